//! Revolve's recursion against a search through all that can be done with so many slots.
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use trainer_checkpoint::forward_steps;

/// Where a reversal stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct State {
    /// The stages below this one are still to be run backward.
    left: usize,
    /// A bit for each stage whose input is stored.
    stored: u32,
    /// The stage whose input was computed last and is at hand, besides what is stored.
    at_hand: Option<usize>,
}

/// All that can be done in a state, with the forward passes that it takes. A stored input may be taken up again or thrown
/// away; what is at hand may be stored, run forward, or, before the last stage that is left, run backward.
fn moves(state: State, slots: u32) -> Vec<(u64, State)> {
    let State { left, stored, at_hand } = state;
    let mut moves = Vec::new();
    for stage in (0..left).filter(|stage| stored & (1 << stage) != 0) {
        moves.push((0, State { at_hand: Some(stage), ..state }));
        moves.push((0, State { stored: stored & !(1 << stage), ..state }));
    }
    if let Some(stage) = at_hand {
        if stored.count_ones() < slots {
            moves.push((0, State { stored: stored | (1 << stage), ..state }));
        }
        if stage + 1 < left {
            moves.push((1, State { at_hand: Some(stage + 1), ..state }));
        } else {
            moves.push((0, State { left: stage, stored: stored & ((1 << stage) - 1), at_hand: None }));
        }
    }
    moves
}

/// The fewest forward passes of all ways to run `stages` backward with `slots`, by Dijkstra's algorithm.
fn fewest(stages: usize, slots: u32) -> u64 {
    let start = State { left: stages, stored: 1, at_hand: None };
    let mut best = HashMap::from([(start, 0)]);
    let mut open = BinaryHeap::from([Reverse((0, start))]);
    while let Some(Reverse((passes, state))) = open.pop() {
        if state.left == 0 {
            return passes;
        }
        if best[&state] < passes {
            continue;
        }
        for (more, next) in moves(state, slots) {
            let passes = passes + more;
            if best.get(&next).is_none_or(|&known| passes < known) {
                best.insert(next, passes);
                open.push(Reverse((passes, next)));
            }
        }
    }
    panic!("one slot is enough to get to the end")
}

#[test]
fn no_schedule_has_fewer_forward_passes() {
    for stages in 1..=12 {
        for slots in 1..=stages {
            assert_eq!(forward_steps(stages, slots), fewest(stages, slots as u32), "{stages} stages, {slots} slots");
        }
    }
}
