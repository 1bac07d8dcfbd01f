//! What a user asks for, and the schedule that does it.
use crate::chain::Chain;
use crate::persistent::Persistent;
use crate::revolve::revolve;
use crate::schedule::Schedule;
use crate::sequential::sequential;
use crate::simulate::{Simulated, simulate};
use crate::whole::whole;

/// Units in which a budget of bytes is counted: a thousandth of what a step without checkpoints takes.
const UNITS: usize = 1000;

/// What a training step keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// All: nothing is computed again.
    None,
    /// What the first stage of each of so many equal segments reads; the last segment is saved whole.
    Sequential(usize),
    /// The same with the number of segments that has the lowest peak.
    BestSequential,
    /// As many maps as there are slots, the input among them.
    Revolve(usize),
    /// What makes the step fastest whose peak is at most so many bytes, all that is there throughout included.
    Bytes(u64),
}

/// A schedule and what it costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The operations.
    pub schedule: Schedule,
    /// Their peak and time.
    pub simulated: Simulated,
}

/// Why there is no schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    /// There are fewer stages than segments.
    #[error("{segments} segments: the network has a chain of {stages} stages; give 1 to {stages} segments")]
    Segments {
        /// So many were asked for.
        segments: usize,
        /// So many stages has the chain, the loss left out.
        stages: usize,
    },
    /// There is no slot.
    #[error("0 slots: the input takes one; give 1 or more")]
    Slots,
    /// No schedule is small enough.
    #[error("a budget of {budget} bytes: no plan for this chain takes less than {least} bytes; give that or more")]
    Budget {
        /// What was asked for, in bytes.
        budget: u64,
        /// What the smallest takes, in bytes.
        least: u64,
    },
}

/// The schedule for `asked`, over a chain of one stage at least.
///
/// # Errors
/// When there is no such schedule.
pub fn plan(chain: &Chain, asked: Plan) -> Result<Planned, NoPlan> {
    let stages = chain.stages.len();
    let schedule = match asked {
        Plan::None => whole(stages),
        Plan::Sequential(segments) => {
            sequential(stages, segments).ok_or(NoPlan::Segments { segments, stages: stages.saturating_sub(1) })?
        }
        Plan::BestSequential => return Ok(best_sequential(chain).1),
        Plan::Revolve(slots) => revolve(stages, slots).ok_or(NoPlan::Slots)?,
        Plan::Bytes(budget) => return fastest_within(chain, budget),
    };
    Ok(planned(chain, schedule))
}

/// The number of segments whose peak is the lowest, the fastest of several, and its schedule. A chain of nothing but a loss
/// has none: 0, and the whole.
pub fn best_sequential(chain: &Chain) -> (usize, Planned) {
    let stages = chain.stages.len();
    let all = (1..stages).filter_map(|segments| Some((segments, planned(chain, sequential(stages, segments)?))));
    all.min_by_key(|(_, planned)| (planned.simulated.peak_bytes, planned.simulated.ns))
        .unwrap_or_else(|| (0, planned(chain, whole(stages))))
}

/// The fastest schedule whose peak is at most `budget` bytes.
///
/// # Errors
/// When there is none.
pub fn fastest_within(chain: &Chain, budget: u64) -> Result<Planned, NoPlan> {
    let persistent = Persistent::new(chain, UNITS);
    let found = persistent.within(budget).ok_or(NoPlan::Budget { budget, least: persistent.least_bytes() })?;
    Ok(Planned { schedule: found.0.clone(), simulated: found.1 })
}

/// A schedule that is known to be valid, with its costs.
fn planned(chain: &Chain, schedule: Schedule) -> Planned {
    let simulated = simulate(chain, &schedule)
        .unwrap_or_else(|invalid| unreachable!("the plans make schedules that can be run: {schedule}: {invalid}"));
    Planned { schedule, simulated }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Stage;

    /// Six stages, the first ones large, as in most networks over images.
    fn chain() -> Chain {
        let stage = |output_bytes: u64| Stage {
            output_bytes,
            saved_bytes: 3 * output_bytes,
            saved_and_output_bytes: 3 * output_bytes,
            forward_peak_bytes: 2 * output_bytes,
            saving_peak_bytes: 3 * output_bytes,
            backward_peak_bytes: 2 * output_bytes,
            forward_ns: 10,
            backward_ns: 20,
            ..Stage::default()
        };
        let mut stages: Vec<Stage> = [64, 64, 16, 16, 4, 4].map(stage).into();
        stages.push(Stage { output_bytes: 1, saved_bytes: 2, saved_and_output_bytes: 3, ..Stage::default() });
        Chain { fixed_bytes: 1000, update_peak_bytes: 0, stages }
    }

    #[test]
    fn what_cannot_be_planned() {
        let says = |asked| plan(&chain(), asked).expect_err("refused").to_string();
        assert_eq!(says(Plan::Sequential(7)), "7 segments: the network has a chain of 6 stages; give 1 to 6 segments");
        assert_eq!(says(Plan::Revolve(0)), "0 slots: the input takes one; give 1 or more");
        let NoPlan::Budget { least, .. } = plan(&chain(), Plan::Bytes(1000)).expect_err("nothing is left") else {
            panic!("a budget was refused")
        };
        assert_eq!(plan(&chain(), Plan::Bytes(least)).expect("the smallest").simulated.peak_bytes, least);
        assert!(plan(&chain(), Plan::Bytes(least - 1)).is_err());
    }

    #[test]
    fn the_best_number_of_segments_is_looked_for() {
        let (segments, best) = best_sequential(&chain());
        for other in 1..=6 {
            let planned = plan(&chain(), Plan::Sequential(other)).expect("enough stages");
            assert!(best.simulated.peak_bytes <= planned.simulated.peak_bytes, "{segments} and {other}");
        }
        assert_eq!(plan(&chain(), Plan::BestSequential).expect("always"), best);
    }

    /// A step that may take what it takes without checkpoints has none.
    #[test]
    fn enough_is_enough() {
        let whole = plan(&chain(), Plan::None).expect("always");
        assert_eq!(plan(&chain(), Plan::Bytes(whole.simulated.peak_bytes)).expect("fits"), whole);
        assert_eq!(plan(&chain(), Plan::Bytes(u64::MAX)).expect("fits"), whole);
        let less = plan(&chain(), Plan::Bytes(whole.simulated.peak_bytes - 1)).expect("fits");
        assert!(less.simulated.ns > whole.simulated.ns && less.simulated.peak_bytes < whole.simulated.peak_bytes);
    }
}
