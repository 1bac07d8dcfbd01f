//! Decides which ticks write a sample into the log though nothing is new, and which of them more than a sample: the summary (own peaks
//! and counts), the times by scope and thread, and the analysis.

/// A tick at which nothing is new writes a sample only once in so many.
const SAMPLE_TICKS: u64 = 10;
/// A summary follows the one before after so many ticks, or after a tenth of all ticks so far ...
const SUMMARY_TICKS: u64 = 10;
/// ... but after so many at the latest.
const MOST_SUMMARY_TICKS: u64 = 100;

/// Times follow after as many ticks as there were so far, but after so many at the least ...
const TIMES_TICKS: u64 = 10;
/// ... and after so many at the latest.
const MOST_TIMES_TICKS: u64 = 100;

/// The first analysis is written after so many ticks, the next after twice as many, and so on ...
const FIRST_ANALYSIS_TICKS: u64 = 100;
/// ... but after so many more at the latest. The pauses grow because an analysis is long.
const MOST_ANALYSIS_TICKS: u64 = 6_000;

/// The ticks so far, and when the next summary and the next analysis are due.
#[derive(Debug)]
pub struct Schedule {
    ticks: u64,
    next_summary: u64,
    next_times: u64,
    next_analysis: u64,
}

impl Schedule {
    /// The schedule of a recording that begins: the first tick has a summary.
    pub fn new() -> Self {
        Schedule { ticks: 0, next_summary: 0, next_times: 0, next_analysis: FIRST_ANALYSIS_TICKS }
    }

    /// How many ticks are over.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Whether this tick writes a sample though nothing is new.
    pub fn sample_is_due(&self) -> bool {
        self.ticks.is_multiple_of(SAMPLE_TICKS)
            || self.summary_is_due()
            || self.times_are_due()
            || self.analysis_is_due()
    }

    /// Whether this tick writes a summary.
    pub fn summary_is_due(&self) -> bool {
        self.ticks >= self.next_summary
    }

    /// Whether this tick writes times.
    pub fn times_are_due(&self) -> bool {
        self.ticks >= self.next_times
    }

    /// Whether this tick writes an analysis.
    pub fn analysis_is_due(&self) -> bool {
        self.ticks >= self.next_analysis
    }

    /// This tick is over, and has written what was due, if anything was.
    pub fn tick_is_over(&mut self) {
        let (summary, times, analysis) = (self.summary_is_due(), self.times_are_due(), self.analysis_is_due());
        self.ticks += 1;
        if summary {
            self.next_summary = self.ticks + (self.ticks / 10).clamp(SUMMARY_TICKS, MOST_SUMMARY_TICKS);
        }
        if times {
            self.next_times = self.ticks + self.ticks.clamp(TIMES_TICKS, MOST_TIMES_TICKS);
        }
        if analysis {
            self.next_analysis = self.ticks + self.ticks.min(MOST_ANALYSIS_TICKS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_grow_up_to_a_limit() {
        let mut schedule = Schedule::new();
        let (mut summaries, mut times, mut samples, mut analyses) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for tick in 0..20_000 {
            assert_eq!(schedule.ticks(), tick);
            summaries.extend(schedule.summary_is_due().then_some(tick));
            times.extend(schedule.times_are_due().then_some(tick));
            samples.extend(schedule.sample_is_due().then_some(tick));
            analyses.extend(schedule.analysis_is_due().then_some(tick));
            schedule.tick_is_over();
        }
        // Each is due so many ticks after the end of the tick before: 0 + 1 + 10, 11 + 1 + 10, and so on.
        assert_eq!(summaries[..3], [0, 11, 22]);
        assert!(summaries.windows(2).all(|pair| pair[1] - pair[0] <= 1 + MOST_SUMMARY_TICKS));
        assert_eq!(times[..7], [0, 11, 24, 50, 102, 203, 304]);
        assert_eq!(samples[..7], [0, 10, 11, 20, 22, 24, 30]);
        // 101 + 101, 203 + 203 and so on; 6,527 + 6,000 from there.
        assert_eq!(analyses, [100, 202, 406, 814, 1_630, 3_262, 6_526, 12_527, 18_528]);
    }
}
