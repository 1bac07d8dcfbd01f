//! One list of calls out of two: those of native code, and those that an interpreter told of.
//!
//! ```text
//! native:       resize < evaluate < sort < evaluate < main         evaluate: the interpreter's function that runs others
//! interpreted:  key* < order < work*                                *: the outermost that its call of `evaluate` ran
//! merged:       resize < key < sort < order < work < main
//! ```
use crate::stacks::interpreter::OUTERMOST;

/// A frame of the merged list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    /// Of native code.
    Native(u64),
    /// That the interpreter told of.
    Interpreted {
        /// The frame.
        frame: u64,
        /// The frame of the interpreter's function that runs it, where that is known.
        within: Option<u64>,
    },
}

/// Merges frames, of which the innermost come first, as in what is returned. `runs`: whether a native frame is of the interpreter's
/// function that runs others. Such a frame gives its place to those that it ran. `cut`: outer frames of either kind are missing.
///
/// Where both lists do not fit together, nobody knows which frames belong where: then all interpreted ones stand in place of everything
/// between the innermost and the outermost frame that runs some.
pub fn merged(native: &[u64], interpreted: &[u64], cut: bool, runs: impl Fn(u64) -> bool) -> Vec<Merged> {
    if interpreted.is_empty() {
        return native.iter().copied().map(Merged::Native).collect();
    }
    let runners: Vec<usize> = (0..native.len()).filter(|&place| runs(native[place])).collect();
    let mut groups: Vec<&[u64]> = interpreted.split_inclusive(|frame| frame & OUTERMOST != 0).collect();
    if cut || groups.len() == runners.len() {
        let beyond = groups.split_off(runners.len().min(groups.len()));
        return in_their_places(native, &runners, &groups, &beyond);
    }
    let [first, last] = [runners.first(), runners.last()].map(|place| place.copied());
    let whole = [interpreted];
    match first.zip(last) {
        Some((first, last)) => {
            let joined: Vec<u64> = native[..=first].iter().chain(&native[last + 1..]).copied().collect();
            in_their_places(&joined, &[first], &whole, &[])
        }
        None => in_their_places(native, &[], &[], &whole),
    }
}

/// The native frames, with one group after the other in the places of `runners`. Those `beyond` are the outermost.
fn in_their_places(native: &[u64], runners: &[usize], groups: &[&[u64]], beyond: &[&[u64]]) -> Vec<Merged> {
    let mut merged = Vec::new();
    let mut runs = runners.iter().zip(groups).peekable();
    for (place, &frame) in native.iter().enumerate() {
        match runs.next_if(|&(&runner, _)| runner == place) {
            Some((_, group)) => {
                let interpreted = |&inner: &u64| Merged::Interpreted { frame: inner, within: Some(frame) };
                merged.extend(group.iter().map(interpreted));
            }
            None => merged.push(Merged::Native(frame)),
        }
    }
    merged.extend(beyond.iter().copied().flatten().map(|&frame| Merged::Interpreted { frame, within: None }));
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVALUATE: u64 = 9;

    /// Native frames as they are, interpreted ones from 100 on.
    fn numbers(native: &[u64], interpreted: &[u64], cut: bool) -> Vec<u64> {
        let number = |merged: Merged| match merged {
            Merged::Native(frame) => frame,
            Merged::Interpreted { frame, within } => {
                assert!(within.is_none_or(|within| within == EVALUATE));
                frame & !OUTERMOST
            }
        };
        merged(native, interpreted, cut, |frame| frame == EVALUATE).into_iter().map(number).collect()
    }

    #[test]
    fn each_evaluation_gives_its_place_to_what_it_ran() {
        let native = [1, EVALUATE, 2, EVALUATE, 3];
        assert_eq!(numbers(&native, &[100 | OUTERMOST, 101, 102 | OUTERMOST], false), [1, 100, 2, 101, 102, 3]);
        assert_eq!(numbers(&[1, 2], &[], false), [1, 2], "a stack without interpreted calls");
    }

    /// The outermost group may lack its outermost frame, when there were too many.
    #[test]
    fn what_lies_beyond_a_cut_is_outermost() {
        let interpreted = [100 | OUTERMOST, 101 | OUTERMOST, 102, 103];
        assert_eq!(numbers(&[1, EVALUATE, 2], &interpreted, true), [1, 100, 2, 101, 102, 103]);
        let runs = [1, EVALUATE, 2, EVALUATE, 4, EVALUATE, 3];
        assert_eq!(numbers(&runs, &interpreted[1..], true), [1, 101, 2, 102, 103, 4, EVALUATE, 3]);
    }

    #[test]
    fn lists_that_do_not_fit_keep_their_own_order() {
        let interpreted = [100 | OUTERMOST, 101 | OUTERMOST];
        assert_eq!(numbers(&[1, EVALUATE, 2], &interpreted, false), [1, 100, 101, 2]);
        assert_eq!(numbers(&[1, EVALUATE, 2, EVALUATE, 4, EVALUATE, 3], &interpreted, false), [1, 100, 101, 3]);
        assert_eq!(numbers(&[1, 2], &interpreted, false), [1, 2, 100, 101]);
        assert_eq!(numbers(&[1, EVALUATE, 2], &[], false), [1, EVALUATE, 2], "nothing was told");
    }
}
