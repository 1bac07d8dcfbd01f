//! The frames of a thread state.
//!
//! ```text
//! a frame for the tracker, 48 bits: | outermost of its evaluation, 1 | the function's number, 23 | code units, 24 |
//! ```
use alloc_tracker::unaided::interpreter::OUTERMOST;

use super::code;
use super::layout::{Borders, C_STACK, Layout, Position};
use crate::memory::Memory;

/// Bits that say where in its code a frame is: the number of the code unit after the one that it executes.
pub const UNIT_BITS: u32 = 24;
const MOST_UNITS: u64 = (1 << UNIT_BITS) - 1;

/// Writes frames, the innermost first. Returns how many, and whether there are more.
pub fn frames(memory: impl Memory, layout: &Layout, code_type: u64, state: u64, into: &mut [u64]) -> (usize, bool) {
    let mut told = 0;
    let Some(mut frame) = innermost(memory, layout, state) else { return (0, false) };
    // Whether the frame written last may get callers within its evaluation.
    let mut is_open = false;
    // Null, or a frame that no evaluation has.
    let end = layout.state_base.and_then(|at| memory.word(state.wrapping_add(at))).unwrap_or(0);
    while frame != 0 && frame != end {
        let ends_evaluation = match layout.borders {
            Borders::EmptyFrame(at) if memory.byte(frame.wrapping_add(at)) == Some(C_STACK) => {
                if is_open {
                    into[told - 1] |= OUTERMOST;
                    is_open = false;
                    frame = memory.word(frame.wrapping_add(layout.frame_back)).unwrap_or(0);
                    continue;
                }
                // An evaluation that has begun with no function yet.
                Some(OUTERMOST)
            }
            _ => None,
        };
        let Some(place) = into.get_mut(told) else { return (told, true) };
        *place = ends_evaluation.unwrap_or_else(|| number(memory, layout, code_type, frame));
        is_open = *place & OUTERMOST == 0;
        told += 1;
        frame = memory.word(frame.wrapping_add(layout.frame_back)).unwrap_or(0);
    }
    if is_open {
        into[told - 1] |= OUTERMOST;
    }
    (told, false)
}

/// The innermost frame, or 0.
fn innermost(memory: impl Memory, layout: &Layout, state: u64) -> Option<u64> {
    let found = memory.word(state.wrapping_add(layout.state_frame))?;
    match layout.frame_in {
        Some(within) => memory.word(found.wrapping_add(within)),
        None => Some(found),
    }
}

/// A frame as the tracker keeps it. One of a function that cannot be told is a frame all the same: it has its place among the others.
fn number(memory: impl Memory, layout: &Layout, code_type: u64, frame: u64) -> u64 {
    let begins = match layout.borders {
        Borders::Everywhere => true,
        Borders::Flag(at) => memory.byte(frame.wrapping_add(at)).is_some_and(|flag| flag != 0),
        Borders::EmptyFrame(_) => false,
    };
    // From 3.14 on, the lowest two bits say who counts this reference. No object has them in its address.
    let code = memory.word(frame.wrapping_add(layout.frame_code)).unwrap_or(0) & !3;
    let function = code::number(memory, layout, code_type, code).map_or(0, u64::from);
    let unit = unit(memory, layout, frame, code).unwrap_or(0);
    (if begins { OUTERMOST } else { 0 }) | function << UNIT_BITS | unit
}

/// The number of the code unit after the one that a frame executes; 0 for a frame that has not begun.
fn unit(memory: impl Memory, layout: &Layout, frame: u64, code: u64) -> Option<u64> {
    let at = frame.wrapping_add(layout.frame_position);
    let unit = match layout.position {
        Position::Bytes => i64::from(memory.int(at)?) >> 1,
        Position::Units => i64::from(memory.int(at)?),
        Position::Address(begin) => memory.word(at)?.wrapping_sub(code).wrapping_sub(begin).cast_signed() >> 1,
    };
    u64::try_from(unit + 1).ok().map(|next| next.min(MOST_UNITS))
}

#[cfg(test)]
mod tests {
    use super::super::lines::Lines;
    use super::*;
    use crate::memory::Asked;

    const LAYOUT: Layout = Layout {
        state_frame: 0,
        state_base: None,
        frame_in: None,
        frame_back: 0,
        frame_code: 8,
        frame_position: 16,
        position: Position::Address(0),
        borders: Borders::EmptyFrame(24),
        code_file: 0,
        code_name: 0,
        code_first_line: 0,
        code_lines: 0,
        lines: Lines::Locations,
        text: [0, 0],
    };

    /// The frames of a chain, the innermost first: whether each is an empty one.
    fn told(chain: &[bool], most: usize) -> (Vec<u64>, bool) {
        told_by(LAYOUT, chain, most)
    }

    /// The same where the thread's state says, at 8, which frame is the last.
    fn told_by(layout: Layout, chain: &[bool], most: usize) -> (Vec<u64>, bool) {
        let mut frames = vec![[0u64; 4]; chain.len() + 1];
        let begin = frames.as_ptr().expose_provenance() as u64;
        for (place, &is_empty) in chain.iter().enumerate() {
            let next = if place + 1 < chain.len() { begin + 32 * (place as u64 + 1) } else { 0 };
            frames[place] = [next, 0, 0, if is_empty { u64::from(C_STACK) } else { 0 }];
        }
        let state = Box::new([begin, begin + 32 * (chain.len() as u64 - 1)]);
        let mut into = vec![0; most];
        let (told, more) =
            super::frames(&Asked::new(), &layout, 1, (&raw const *state).expose_provenance() as u64, &mut into);
        into.truncate(told);
        (into.iter().map(|frame| frame & OUTERMOST).collect(), more)
    }

    #[test]
    fn an_empty_frame_ends_an_evaluation() {
        let (inner, outer) = (0, OUTERMOST);
        assert_eq!(told(&[false, false, true, false, true], 9), (vec![inner, outer, outer], false));
        assert_eq!(
            told(&[true, true, false, true], 9),
            (vec![outer; 3], false),
            "two evaluations that have just begun"
        );
        assert_eq!(told(&[false, false], 9), (vec![inner, outer], false), "the chain's end is a border");
        assert_eq!(told(&[false, false, true], 2), (vec![inner, outer], false));
        assert_eq!(told(&[false, false, false, true], 2), (vec![inner; 2], true));
    }

    #[test]
    fn the_frame_that_every_chain_ends_with_is_no_evaluation() {
        let layout = Layout { state_base: Some(8), ..LAYOUT };
        assert_eq!(told_by(layout, &[false, false, true, true], 9), (vec![0, OUTERMOST], false));
        assert_eq!(told_by(layout, &[true, true], 9), (vec![OUTERMOST], false), "one that has just begun");
        assert_eq!(told_by(layout, &[true], 9), (vec![], false), "none");
        assert_eq!(told(&[false, false, true, true], 9), (vec![0, OUTERMOST, OUTERMOST], false), "before 3.15");
    }
}
