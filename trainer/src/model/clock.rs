//! Takes the time of each stage, or costs nothing.
use std::time::{Duration, Instant};

/// The time of each stage so far. It allocates when it is made and never again.
#[derive(Debug)]
pub(super) struct StageClock {
    /// Empty when no time is taken.
    times: Vec<Duration>,
    began: Option<Instant>,
}

impl StageClock {
    /// A clock for `stages` stages; unless `on`, one that does not run.
    pub(super) fn new(on: bool, stages: usize) -> StageClock {
        StageClock { times: vec![Duration::ZERO; if on { stages } else { 0 }], began: None }
    }

    /// A stage begins.
    pub(super) fn begin(&mut self) {
        self.began = (!self.times.is_empty()).then(Instant::now);
    }

    /// The stage `index` ends.
    pub(super) fn end(&mut self, index: usize) {
        if let (Some(began), Some(time)) = (self.began.take(), self.times.get_mut(index)) {
            *time += began.elapsed();
        }
    }

    /// The times, in the order of the stages.
    pub(super) fn times(&self) -> impl Iterator<Item = Duration> {
        self.times.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_that_runs_twice_has_the_sum() {
        let mut clock = StageClock::new(true, 2);
        let run = |clock: &mut StageClock| {
            clock.begin();
            std::thread::sleep(Duration::from_millis(2));
            clock.end(1);
        };
        run(&mut clock);
        run(&mut clock);
        let times: Vec<Duration> = clock.times().collect();
        assert_eq!(times[0], Duration::ZERO);
        assert!(times[1] >= Duration::from_millis(4), "{times:?}");
    }

    #[test]
    fn a_clock_that_is_off_knows_nothing() {
        let mut clock = StageClock::new(false, 2);
        clock.begin();
        clock.end(1);
        assert_eq!(clock.times().count(), 0);
    }
}
