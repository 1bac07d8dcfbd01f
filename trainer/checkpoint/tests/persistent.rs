//! The schedules in budgets of bytes: against a search through all persistent schedules, and what must hold of them for any
//! chain.
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use proptest::prelude::*;
use trainer_checkpoint::{
    Chain, Keep, Operation, Persistent, Plan, Schedule, Stage, plan, revolve, sequential, simulate,
};

/// A stage with all its costs below `most`, and such that an operation has room for what it leaves.
fn stage(most: u64) -> impl Strategy<Value = Stage> {
    let below = || 0..most;
    (below(), below(), any::<bool>(), below(), [below(), below(), below()], 0..20u64, 0..20u64).prop_map(
        |(output_bytes, kept, holds_output, gradient_bytes, [forward, saving, backward], forward_ns, backward_ns)| {
            let saved_bytes = if holds_output { kept + output_bytes } else { kept };
            let saved_and_output_bytes = kept + output_bytes;
            Stage {
                output_bytes,
                saved_bytes,
                saved_and_output_bytes,
                gradient_bytes,
                forward_peak_bytes: output_bytes + forward,
                saving_peak_bytes: saved_and_output_bytes + saving,
                backward_peak_bytes: gradient_bytes + backward,
                forward_ns,
                backward_ns,
                ..Stage::default()
            }
        },
    )
}

fn chain(stages: impl Into<prop::collection::SizeRange>, most: u64) -> impl Strategy<Value = Chain> {
    (prop::collection::vec(stage(most), stages), 0..most, 0..most).prop_map(|(stages, fixed_bytes, update)| {
        // An update has all gradients.
        let gradients = stages.iter().map(|stage| stage.gradient_bytes).sum::<u64>();
        Chain { fixed_bytes, update_peak_bytes: gradients + update, stages }
    })
}

/// A map in the search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Map {
    Gone,
    /// It was just computed and nobody has decided what becomes of it.
    New,
    /// It is kept until the stage that reads it has been run backward.
    Kept,
}

/// What is there: of each stage its map and whether its graph is saved, and how many stages have not been run backward.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct State {
    maps: Vec<Map>,
    graphs: Vec<bool>,
    left: usize,
}

impl State {
    fn bytes(&self, chain: &Chain) -> u64 {
        let mut bytes = chain.fixed_bytes;
        for (index, stage) in chain.stages.iter().enumerate() {
            bytes += match (self.maps[index], self.graphs[index]) {
                (Map::Gone, false) => 0,
                (_, false) => stage.output_bytes,
                (Map::Gone, true) => stage.saved_bytes,
                (_, true) => stage.saved_and_output_bytes,
            };
            if index >= self.left {
                bytes += stage.gradient_bytes;
            }
            if index + 1 == self.left && self.left < chain.stages.len() {
                bytes += stage.output_bytes;
            }
        }
        bytes
    }

    /// All that can be done: the time, the bytes above this state, and what is there then.
    fn moves(&self, chain: &Chain) -> Vec<(u64, u64, State)> {
        let mut moves = Vec::new();
        for (index, stage) in chain.stages.iter().enumerate().take(self.left) {
            // What a stage saves has its map in it, so that goes with the graph, but for the last stage: nobody reads its map.
            let lets_go = |of: usize| !self.graphs[of] || of + 1 == self.left;
            if self.maps[index] == Map::New && lets_go(index) {
                let mut next = self.clone();
                next.maps[index] = Map::Gone;
                moves.push((0, 0, next));
            }
            if self.graphs[index] && index + 1 == self.left {
                let mut next = self.clone();
                (next.maps[index], next.graphs[index], next.left) = (Map::Gone, false, index);
                if let Some(before) = index.checked_sub(1) {
                    next.maps[before] = Map::Gone;
                }
                moves.push((stage.backward_ns, stage.backward_peak_bytes, next));
            }
            // A stage is run forward again only when all that is kept behind it has been run backward.
            let behind = index + 1..self.left;
            if behind.into_iter().any(|later| self.graphs[later] || self.maps[later] != Map::Gone) {
                continue;
            }
            let input = index.checked_sub(1).map_or(Map::Kept, |before| self.maps[before]);
            if input == Map::Gone {
                continue;
            }
            let mut kept = self.clone();
            if let Some(before) = index.checked_sub(1) {
                kept.maps[before] = Map::Kept;
            }
            if self.maps[index] == Map::Gone {
                let mut next = kept.clone();
                next.maps[index] = Map::New;
                moves.push((stage.forward_ns, stage.forward_peak_bytes, next.clone()));
                if input == Map::New && lets_go(index - 1) {
                    let mut unkept = next.clone();
                    unkept.maps[index - 1] = Map::Gone;
                    moves.push((stage.forward_ns, stage.forward_peak_bytes, unkept));
                }
                if !self.graphs[index] {
                    next.graphs[index] = true;
                    moves.push((stage.forward_ns, stage.saving_peak_bytes, next));
                }
            }
        }
        moves
    }
}

/// The least time of all persistent schedules in a budget, by Dijkstra's algorithm; `None` when there is none.
fn least_ns(chain: &Chain, budget: u64) -> Option<u64> {
    if chain.fixed_bytes + chain.update_peak_bytes > budget {
        return None;
    }
    let stages = chain.stages.len();
    let start = State { maps: vec![Map::Gone; stages], graphs: vec![false; stages], left: stages };
    let mut best = HashMap::from([(start.clone(), 0)]);
    let mut open = BinaryHeap::from([Reverse((0, start))]);
    while let Some(Reverse((ns, state))) = open.pop() {
        if state.left == 0 {
            return Some(ns);
        }
        if best[&state] < ns {
            continue;
        }
        let before = state.bytes(chain);
        for (more, above, next) in state.moves(chain) {
            let (ns, peak) = (ns + more, (before + above).max(next.bytes(chain)));
            if peak <= budget && best.get(&next).is_none_or(|&known| ns < known) {
                best.insert(next.clone(), ns);
                open.push(Reverse((ns, next)));
            }
        }
    }
    None
}

/// Units of one byte: nothing is rounded.
fn to_the_byte(chain: &Chain) -> Persistent {
    let whole = plan(chain, Plan::None).expect("always").simulated;
    Persistent::new(chain, (whole.peak_bytes - chain.fixed_bytes).max(1) as usize)
}

/// Left out of the class: a schedule that saves stage 1, lets its map go and computes the map again takes 10 bytes. Saved
/// late, stage 1 takes 10 beside the gradient of stage 3; saved early, its map of 5 is there in the backward pass of stage 3,
/// which takes 6. Both are 11.
#[test]
fn a_saved_stage_keeps_its_map() {
    let first = Stage {
        output_bytes: 5,
        saved_and_output_bytes: 5,
        forward_peak_bytes: 5,
        saving_peak_bytes: 10,
        ..Stage::default()
    };
    let last = Stage { gradient_bytes: 1, backward_peak_bytes: 6, ..Stage::default() };
    let chain = Chain { fixed_bytes: 0, update_peak_bytes: 1, stages: vec![first, Stage::default(), last] };
    assert_eq!((to_the_byte(&chain).least_bytes(), least_ns(&chain, 10)), (11, None));
    let forward = |stage, keep| Operation::Forward { stage, keep };
    let outside = Schedule(vec![
        forward(0, Keep::All),
        forward(1, Keep::Nothing),
        forward(2, Keep::All),
        Operation::Drop { stage: 2 },
        Operation::Backward { stage: 2 },
        forward(0, Keep::Input),
        forward(1, Keep::All),
        Operation::Drop { stage: 1 },
        Operation::Backward { stage: 1 },
        Operation::Backward { stage: 0 },
    ]);
    assert_eq!(simulate(&chain, &outside).map(|simulated| simulated.peak_bytes), Ok(10));
}

/// Left out of the class: a schedule that saves stage 3, then runs stage 1 again, and only then runs stage 3 backward takes 6
/// bytes. Saved behind that, stage 1 takes 6 beside the gradient of stage 3; saved before it, its graph of 1 is there while
/// stage 3 takes 6. Both are 7.
#[test]
fn later_stages_are_run_backward_first() {
    let first = Stage { saved_bytes: 1, saved_and_output_bytes: 1, saving_peak_bytes: 6, ..Stage::default() };
    let last = Stage {
        output_bytes: 3,
        saved_and_output_bytes: 3,
        gradient_bytes: 1,
        forward_peak_bytes: 3,
        saving_peak_bytes: 6,
        backward_peak_bytes: 1,
        ..Stage::default()
    };
    let chain = Chain { fixed_bytes: 0, update_peak_bytes: 1, stages: vec![first, Stage::default(), last] };
    assert_eq!((to_the_byte(&chain).least_bytes(), least_ns(&chain, 6)), (7, None));
    let forward = |stage, keep| Operation::Forward { stage, keep };
    let outside = Schedule(vec![
        forward(0, Keep::Input),
        forward(1, Keep::Input),
        forward(2, Keep::All),
        Operation::Drop { stage: 2 },
        Operation::Drop { stage: 1 },
        Operation::Drop { stage: 0 },
        forward(0, Keep::All),
        forward(1, Keep::All),
        Operation::Backward { stage: 2 },
        Operation::Backward { stage: 1 },
        Operation::Backward { stage: 0 },
    ]);
    assert_eq!(simulate(&chain, &outside).map(|simulated| simulated.peak_bytes), Ok(6));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// In every budget up to that of a step without checkpoints.
    #[test]
    fn no_persistent_schedule_is_faster(chain in chain(1..=5usize, 6)) {
        let persistent = to_the_byte(&chain);
        let whole = plan(&chain, Plan::None).expect("always").simulated.peak_bytes;
        for budget in chain.fixed_bytes..=whole {
            let found = persistent.within(budget).map(|(_, simulated)| simulated.ns);
            prop_assert_eq!(found, least_ns(&chain, budget), "{} of {} bytes", budget, whole);
        }
    }

    /// Segments and slots give persistent schedules too, so none of them is faster in the same bytes.
    #[test]
    fn no_other_plan_is_faster(chain in chain(2..=10usize, 12)) {
        let persistent = to_the_byte(&chain);
        let stages = chain.stages.len();
        let others = (1..stages).filter_map(|segments| sequential(stages, segments));
        for schedule in others.chain((1..=stages).filter_map(|slots| revolve(stages, slots))) {
            let other = simulate(&chain, &schedule).expect("valid");
            let (ours, found) = persistent.within(other.peak_bytes).expect("the other one fits");
            prop_assert!(found.ns <= other.ns, "{} ns: {}; {} ns: {}", found.ns, ours, other.ns, schedule);
        }
    }

    /// Bytes of real networks, counted in few units: what is found keeps to its budget, more bytes never take longer, and
    /// what is said to be the least can be done.
    #[test]
    fn budgets_are_kept(chain in chain(1..=12usize, 1 << 30), units in 1..300usize) {
        let persistent = Persistent::new(&chain, units);
        let whole = plan(&chain, Plan::None).expect("always").simulated;
        let least = persistent.least_bytes();
        prop_assert!(least <= whole.peak_bytes);
        prop_assert!(persistent.within(least.saturating_sub(1)).is_none() || least == 0);
        let mut before = None;
        for part in 0..=16 {
            let budget = least + (whole.peak_bytes - least) / 16 * part;
            let (schedule, simulated) = persistent.within(budget).expect("the least fits");
            prop_assert_eq!(simulate(&chain, schedule), Ok(*simulated));
            prop_assert!(simulated.peak_bytes <= budget);
            prop_assert!(before.is_none_or(|ns| simulated.ns <= ns));
            before = Some(simulated.ns);
        }
        prop_assert_eq!(persistent.within(whole.peak_bytes).expect("fits").1.ns, chain.least_ns());
    }
}
