//! A schedule, run over what a chain costs: what is live at each operation, and whether each finds what it needs.
//!
//! A map and a graph may share bytes, so a stage takes
//!
//! ```text
//!                      graph not saved   graph saved
//! its map not held     0                 saved_bytes
//! its map held         output_bytes      saved_and_output_bytes
//! ```
//!
//! and besides, while they are there, the gradient of its map and the gradients of its parameters.
use crate::chain::{Chain, Stage};
use crate::schedule::{Keep, Operation, Schedule};

/// What a schedule costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Simulated {
    /// The most that is live at once, what is there throughout included.
    pub peak_bytes: u64,
    /// The operation of the schedule during which that is, the first of several; its length when it is in the update behind
    /// the last operation.
    pub peak_at: usize,
    /// Time of all operations.
    pub ns: u64,
    /// Time of the forward passes of a stage beyond its first one.
    pub recompute_ns: u64,
    /// How many forward passes of a stage those are.
    pub recomputed: u64,
}

/// Why a schedule cannot be run. `at` is the index of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The chain has no such stage.
    #[error("operation {at}: there is no stage {stage}")]
    NoStage {
        /// The operation.
        at: usize,
        /// The stage.
        stage: usize,
    },
    /// The map that the stage reads is gone.
    #[error("operation {at}: the map that stage {stage} reads is not there")]
    NoInput {
        /// The operation.
        at: usize,
        /// The stage.
        stage: usize,
    },
    /// The stage's backward pass has no graph.
    #[error("operation {at}: nothing is saved of stage {stage}")]
    NotSaved {
        /// The operation.
        at: usize,
        /// The stage.
        stage: usize,
    },
    /// The stage behind has not been run backward.
    #[error("operation {at}: nobody handed stage {stage} a gradient")]
    NoGradient {
        /// The operation.
        at: usize,
        /// The stage.
        stage: usize,
    },
    /// What the operation makes is there, or no longer needed, or what it drops is not there.
    #[error("operation {at}: it is of no use to stage {stage}")]
    Useless {
        /// The operation.
        at: usize,
        /// The stage.
        stage: usize,
    },
    /// The schedule ends before the step does.
    #[error("stage {stage} has not been run backward")]
    Unfinished {
        /// The last stage without a backward pass.
        stage: usize,
    },
}

/// What is there of one stage.
#[derive(Clone, Copy, Debug, Default)]
struct Present {
    map: bool,
    graph: bool,
    /// The gradient of its map.
    handed: bool,
    /// Whether it has been run forward, and backward.
    seen: bool,
    reversed: bool,
}

/// Runs `schedule` over `chain`.
///
/// # Errors
/// When an operation does not find what it needs, or the step is not done at the end.
pub fn simulate(chain: &Chain, schedule: &Schedule) -> Result<Simulated, Invalid> {
    let mut present = vec![Present::default(); chain.stages.len()];
    let mut simulated = Simulated { peak_bytes: chain.fixed_bytes, ..Simulated::default() };
    for (at, &operation) in schedule.0.iter().enumerate() {
        let index = operation.stage();
        let stage = chain.stages.get(index).ok_or(Invalid::NoStage { at, stage: index })?;
        check(&present, at, operation)?;
        let before = live_bytes(chain, &present);
        let above = match operation {
            Operation::Forward { keep: Keep::All, .. } => stage.saving_peak_bytes,
            Operation::Forward { .. } => stage.forward_peak_bytes,
            Operation::Backward { .. } => stage.backward_peak_bytes,
            Operation::Drop { .. } => 0,
        };
        match operation {
            Operation::Forward { .. } => {
                simulated.ns += stage.forward_ns;
                if present[index].seen {
                    simulated.recompute_ns += stage.forward_ns;
                    simulated.recomputed += 1;
                }
            }
            Operation::Backward { .. } => simulated.ns += stage.backward_ns,
            Operation::Drop { .. } => {}
        }
        apply(&mut present, operation);
        let most = (before + above).max(live_bytes(chain, &present));
        if most > simulated.peak_bytes {
            (simulated.peak_bytes, simulated.peak_at) = (most, at);
        }
    }
    if let Some(stage) = present.iter().rposition(|stage| !stage.reversed) {
        return Err(Invalid::Unfinished { stage });
    }
    let update = chain.fixed_bytes + chain.update_peak_bytes;
    if update > simulated.peak_bytes {
        (simulated.peak_bytes, simulated.peak_at) = (update, schedule.0.len());
    }
    Ok(simulated)
}

/// Whether an operation finds what it needs.
fn check(present: &[Present], at: usize, operation: Operation) -> Result<(), Invalid> {
    let stage = operation.stage();
    let this = present[stage];
    let has_input = stage == 0 || present[stage - 1].map;
    let useful = match operation {
        Operation::Forward { keep, .. } => !(this.map || this.reversed || (this.graph && keep == Keep::All)),
        Operation::Backward { .. } => !this.reversed,
        Operation::Drop { .. } => this.map,
    };
    let is_last = stage + 1 == present.len();
    match operation {
        _ if !useful => Err(Invalid::Useless { at, stage }),
        Operation::Drop { .. } => Ok(()),
        _ if !has_input => Err(Invalid::NoInput { at, stage }),
        Operation::Backward { .. } if !this.graph => Err(Invalid::NotSaved { at, stage }),
        Operation::Backward { .. } if !this.handed && !is_last => Err(Invalid::NoGradient { at, stage }),
        _ => Ok(()),
    }
}

/// What is there behind an operation.
fn apply(present: &mut [Present], operation: Operation) {
    match operation {
        Operation::Forward { stage, keep } => {
            if let (Keep::Nothing, Some(before)) = (keep, stage.checked_sub(1)) {
                present[before].map = false;
            }
            let this = &mut present[stage];
            (this.map, this.seen) = (true, true);
            this.graph |= keep == Keep::All;
        }
        Operation::Backward { stage } => {
            present[stage] = Present { seen: true, reversed: true, ..Present::default() };
            if let Some(before) = stage.checked_sub(1) {
                (present[before].map, present[before].handed) = (false, true);
            }
        }
        Operation::Drop { stage } => present[stage].map = false,
    }
}

/// All that is live between two operations.
fn live_bytes(chain: &Chain, present: &[Present]) -> u64 {
    let of = |(stage, present): (&Stage, &Present)| {
        let kept = match (present.map, present.graph) {
            (false, false) => 0,
            (true, false) => stage.output_bytes,
            (false, true) => stage.saved_bytes,
            (true, true) => stage.saved_and_output_bytes,
        };
        let handed = if present.handed { stage.output_bytes } else { 0 };
        kept + handed + if present.reversed { stage.gradient_bytes } else { 0 }
    };
    chain.fixed_bytes + chain.stages.iter().zip(present).map(of).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two stages and a loss, with costs that tell which of them a sum is made of.
    fn chain() -> Chain {
        let stage = |output_bytes, saved_bytes, both, gradient_bytes| Stage {
            output_bytes,
            saved_bytes,
            saved_and_output_bytes: both,
            gradient_bytes,
            forward_ns: 1,
            backward_ns: 10,
            ..Stage::default()
        };
        Chain {
            fixed_bytes: 1000,
            update_peak_bytes: 0,
            stages: vec![stage(1, 10, 11, 100), stage(2, 20, 20, 200), stage(4, 40, 44, 0)],
        }
    }

    fn parsed(text: &str) -> Schedule {
        let operation = |word: &str| {
            let stage = word[1..].parse::<usize>().expect("a number") - 1;
            match &word[..1] {
                "f" => Operation::Forward { stage, keep: Keep::Nothing },
                "c" => Operation::Forward { stage, keep: Keep::Input },
                "s" => Operation::Forward { stage, keep: Keep::All },
                "b" => Operation::Backward { stage },
                _ => Operation::Drop { stage },
            }
        };
        Schedule(text.split_whitespace().map(operation).collect())
    }

    #[track_caller]
    fn check(text: &str, expected: Result<(u64, usize, u64, u64), Invalid>) {
        let schedule = parsed(text);
        assert_eq!(schedule.to_string(), text, "the letters");
        let found = simulate(&chain(), &schedule);
        assert_eq!(found.map(|found| (found.peak_bytes, found.peak_at, found.ns, found.recompute_ns)), expected);
    }

    /// Behind the third forward pass 11 + 20 + 44 are live. Then the loss's map goes (71). Its backward pass lets the map of the
    /// second stage go, which its graph has anyway, and leaves its gradient: 11 + 20 + 2. Then 10 + 1 + 200, then 100 + 200.
    #[test]
    fn what_is_live() {
        check("s1 s2 s3 d3 b3 b2 b1", Ok((1300, 6, 33, 0)));
        let mut without_gradients = chain();
        without_gradients.stages.iter_mut().for_each(|stage| stage.gradient_bytes = 0);
        let found = simulate(&without_gradients, &parsed("s1 s2 s3 d3 b3 b2 b1")).expect("valid");
        assert_eq!((found.peak_bytes, found.peak_at), (1075, 2));
    }

    #[test]
    fn a_peak_inside_of_an_operation() {
        let mut chain = chain();
        chain.stages[1].backward_peak_bytes = 5000;
        let found = simulate(&chain, &parsed("s1 s2 s3 d3 b3 b2 b1")).expect("valid");
        assert_eq!((found.peak_bytes, found.peak_at), (1000 + 11 + 20 + 2 + 5000, 5), "above what was live before");
        chain.update_peak_bytes = 9000;
        let found = simulate(&chain, &parsed("s1 s2 s3 d3 b3 b2 b1")).expect("valid");
        assert_eq!((found.peak_bytes, found.peak_at), (10_000, 7), "behind the last operation");
    }

    #[test]
    fn forward_passes_again_are_counted() {
        check("c1 f2 s3 d3 b3 c1 s2 d2 b2 s1 d1 b1", Ok((1300, 11, 36, 3)));
        check("c1 c2 s3 d3 b3 s2 d2 b2 s1 d1 b1", Ok((1300, 10, 35, 2)));
    }

    #[test]
    fn what_cannot_be_run() {
        check("s1 s2 s3 d3 b2", Err(Invalid::NoGradient { at: 4, stage: 1 }));
        check("s1 c2 s3 d3 b3 b2", Err(Invalid::NotSaved { at: 5, stage: 1 }));
        check("s2", Err(Invalid::NoInput { at: 0, stage: 1 }));
        check("s1 s1", Err(Invalid::Useless { at: 1, stage: 0 }));
        check("s1 d1 d1", Err(Invalid::Useless { at: 2, stage: 0 }));
        check("s1 d1 s2", Err(Invalid::NoInput { at: 2, stage: 1 }));
        check("s1 s2 s3 d3 b3 b2", Err(Invalid::Unfinished { stage: 0 }));
        check("s4", Err(Invalid::NoStage { at: 0, stage: 3 }));
    }
}
