//! What each step consists of: the time of each phase on the thread that does the steps. The parts sum to the step.
use alloc_timeline::{StepTimes, Timeline};
use serde::Serialize;

use crate::analysis::self_time::{NoTimes, TimeBasis, counted_steps};
use crate::model::ScopeNames;

/// The steps of a run, by phase. The field names never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepParts {
    /// The phases in the order in which the run came to them; [`NONE`](alloc_timeline::NONE), which is the rest, comes last.
    pub phases: Vec<String>,
    /// All steps.
    pub steps: Vec<StepPart>,
    /// Which steps the figures of the next field are of.
    pub basis: TimeBasis,
    /// Each phase over those steps, and the whole step at the end.
    pub figures: Vec<PartFigures>,
}

/// One step, or neighbouring ones together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepPart {
    /// The first of the steps.
    pub first_step: u64,
    /// The last of them.
    pub last_step: u64,
    /// How long they took.
    pub wall_ns: u64,
    /// The parts, one for each phase. They sum to `wall_ns`.
    pub by_phase_ns: Vec<u64>,
}

/// One phase over several steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartFigures {
    /// Its name, or `step`.
    pub name: String,
    /// The sum over the steps. The sums of the phases sum to that of the step.
    pub sum_ns: u64,
    /// What half of the steps stay below, in one step. Medians of parts do not sum to that of the step.
    pub median_ns: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// The steps of a run by phase; `skip` is for the figures, see `counted_steps`.
///
/// # Errors
/// When there are no times by step, or no step is left.
pub fn step_parts(timeline: &Timeline, skip: Option<u64>) -> Result<StepParts, NoTimes> {
    let counted = counted_steps(timeline, skip)?;
    let phases = phases(timeline);
    let part = |step: &StepTimes| {
        let mut by_phase_ns = vec![0u64; phases.len()];
        for (scope, ns, _) in step.stepping_thread.rows() {
            let phase = ScopeNames::new(&timeline.scopes, scope).phase;
            if let Some(index) = phases.iter().position(|name| *name == phase) {
                by_phase_ns[index] = by_phase_ns[index].saturating_add(ns);
            }
        }
        StepPart { first_step: step.first_step, last_step: step.last_step, wall_ns: step.wall_ns, by_phase_ns }
    };
    let parts: Vec<StepPart> = counted.iter().map(part).collect();
    let phase = |index: usize| figures(&phases[index], &parts, |step| step.by_phase_ns[index]);
    let figures = (0..phases.len()).map(phase).chain([figures("step", &parts, |step| step.wall_ns)]).collect();
    Ok(StepParts {
        figures,
        steps: timeline.step_times.iter().map(part).collect(),
        basis: TimeBasis {
            steps: counted.iter().map(StepTimes::steps).sum(),
            first_step: counted.first().map_or(0, |step| step.first_step),
            last_step: counted.last().map_or(0, |step| step.last_step),
        },
        phases,
    })
}

/// The phases that any step was in.
fn phases(timeline: &Timeline) -> Vec<String> {
    let mut scopes: Vec<u32> =
        timeline.step_times.iter().flat_map(|step| step.stepping_thread.scopes.clone()).collect();
    scopes.sort_unstable();
    scopes.dedup();
    let mut phases: Vec<String> = Vec::new();
    for scope in scopes {
        let phase = ScopeNames::new(&timeline.scopes, scope).phase;
        if phase != alloc_timeline::NONE && !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    phases.push(alloc_timeline::NONE.to_owned());
    phases
}

/// The figures of one part. An entry of several steps counts with what a step of it took.
fn figures(name: &str, parts: &[StepPart], ns: impl Fn(&StepPart) -> u64) -> PartFigures {
    let mut a_step: Vec<u64> = parts.iter().map(|part| ns(part) / (part.last_step - part.first_step + 1)).collect();
    a_step.sort_unstable();
    let middle = a_step.len() / 2;
    let median = |sorted: &[u64]| match sorted {
        [] => 0,
        _ if sorted.len() % 2 == 1 => sorted[middle],
        _ => sorted[middle - 1].midpoint(sorted[middle]),
    };
    PartFigures {
        name: name.to_owned(),
        sum_ns: parts.iter().map(ns).fold(0, u64::saturating_add),
        median_ns: median(&a_step),
        min_ns: a_step.first().copied().unwrap_or(0),
        max_ns: a_step.last().copied().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::{tiny, with_step_times};

    /// Step `n` of the fixture: forward 800 us, backward 300 us, and in no phase `n` us.
    #[test]
    fn the_parts_sum_to_the_step() {
        let parts = step_parts(&with_step_times(tiny(), 6), None).expect("times");
        assert_eq!(parts.phases, ["forward", "backward", "(none)"]);
        for (step, part) in (1..).zip(&parts.steps) {
            assert_eq!(part.by_phase_ns, [800_000, 300_000, 1_000 * step]);
            assert_eq!(part.by_phase_ns.iter().sum::<u64>(), part.wall_ns);
        }
        let [forward, _, none, step] = parts.figures.as_slice() else { panic!("{parts:?}") };
        assert_eq!((forward.sum_ns, forward.median_ns), (2_400_000, 800_000));
        assert_eq!((none.sum_ns, none.median_ns, none.min_ns, none.max_ns), (15_000, 5_000, 4_000, 6_000));
        assert_eq!(step.sum_ns, parts.figures[..3].iter().map(|figures| figures.sum_ns).sum::<u64>());
    }
}
