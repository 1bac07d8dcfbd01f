//! How much time lies between two ticks.
use std::time::Duration;

use crate::sys;

/// The time between two ticks where the session was given none ...
const LEAST_AFFORDABLE: Duration = Duration::from_millis(10);
/// ... and where ticks cost more than they may.
pub const MOST_AFFORDABLE: Duration = Duration::from_millis(40);
/// Ticks may take 1 part in so many of a processor's time, that is half a percent.
const PROCESSOR_PART: u64 = 200;
/// What a tick costs is a mean, in which the latest tick counts for 1 part in so many.
const MEAN_PART: u64 = 16;

/// What is asked of the time between two ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// [`LEAST_AFFORDABLE`], or longer, so that ticks take no more than half a percent of a processor; [`MOST_AFFORDABLE`] at the most.
    Affordable,
    /// This time, whatever ticks cost.
    Given(Duration),
}

impl Interval {
    /// The shortest time between two ticks.
    pub fn least(self) -> Duration {
        match self {
            Interval::Affordable => LEAST_AFFORDABLE,
            Interval::Given(interval) => interval,
        }
    }
}

/// What ticks cost: the processor time of the recorder's thread, without that in which it replays events. Replaying has to be done
/// whenever the next tick comes.
#[derive(Debug, Default)]
pub struct TickCost {
    /// The thread's processor time when the tick began to cost.
    began_ns: u64,
    mean_ns: u64,
}

impl TickCost {
    /// The events are replayed, and the tick begins.
    pub fn begins(&mut self) {
        self.began_ns = sys::thread_cpu_ns();
    }

    /// The tick is over.
    pub fn ends(&mut self) {
        self.counts(sys::thread_cpu_ns().saturating_sub(self.began_ns));
    }

    fn counts(&mut self, tick_ns: u64) {
        self.mean_ns = (self.mean_ns * (MEAN_PART - 1) + tick_ns) / MEAN_PART;
    }

    /// The time from one tick to the next.
    pub fn interval(&self, asked: Interval) -> Duration {
        match asked {
            Interval::Given(interval) => interval,
            Interval::Affordable => {
                Duration::from_nanos(self.mean_ns * PROCESSOR_PART).clamp(LEAST_AFFORDABLE, MOST_AFFORDABLE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval_of(tick_ns: &[u64]) -> Duration {
        let mut cost = TickCost::default();
        tick_ns.iter().for_each(|ns| cost.counts(*ns));
        assert_eq!(cost.interval(Interval::Given(Duration::from_millis(3))), Duration::from_millis(3));
        cost.interval(Interval::Affordable)
    }

    #[test]
    fn ticks_come_later_where_they_cost_more_than_they_may() {
        assert_eq!(interval_of(&[]), LEAST_AFFORDABLE);
        // 50 microseconds are half a percent of 10 ms, 100 of 20.
        assert_eq!(interval_of(&[50_000; 200]), LEAST_AFFORDABLE);
        let of_twice = interval_of(&[100_000; 200]);
        assert!((19_900..=20_000).contains(&of_twice.as_micros()), "{of_twice:?}");
        assert_eq!(interval_of(&[5_000_000; 200]), MOST_AFFORDABLE);
        // A tick that writes much is made good within some ticks.
        let after_a_long_one = |ticks| [vec![5_000_000], vec![20_000; ticks]].concat();
        assert_eq!(interval_of(&after_a_long_one(0)), MOST_AFFORDABLE);
        assert_eq!(interval_of(&after_a_long_one(50)), LEAST_AFFORDABLE);
    }
}
