//! Times of steps for made-up runs.
use alloc_timeline::{ScopeTimes, StepTimes, Timeline};

/// The run with the times of so many steps: in each, a scope that is in a phase of the step is active for as many tenths of a
/// millisecond as its number and entered twice. In no scope the thread is for as many microseconds as the step's number.
pub fn with_step_times(mut timeline: Timeline, steps: u64) -> Timeline {
    let in_step = |phase: &str| ["data", "forward", "loss", "backward", "optimizer"].contains(&phase);
    let scopes = (0u32..).zip(&timeline.scopes).filter(|(_, scope)| in_step(&scope.phase)).map(|(number, _)| number);
    let scopes: Vec<u32> = scopes.collect();
    let step = |index: u64| {
        let active = scopes.iter().map(|&scope| (scope, u64::from(scope) * 100_000, 2));
        let stepping_thread: ScopeTimes = [(0, index * 1_000, 0)].into_iter().chain(active).collect();
        StepTimes {
            first_step: index,
            last_step: index,
            wall_ns: stepping_thread.active_ns.iter().sum(),
            stepping_thread,
            other_threads: ScopeTimes::default(),
        }
    };
    timeline.step_times = (1..=steps).map(step).collect();
    timeline
}
