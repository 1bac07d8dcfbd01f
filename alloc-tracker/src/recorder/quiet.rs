//! Ticks at which nothing is new. Most ticks of a program that computes are, and take no sample.
//!
//! The last one of a row of them gets a sample once something is new. So whoever draws lines between samples draws a step where there
//! was one.
use std::mem;

use alloc_timeline::Sample;

use crate::probe::Readings;

/// What the latest tick saw, and what a sample of it would say.
#[derive(Debug, Default)]
pub struct Quiet {
    /// How many places of the event ring had been read.
    places: u64,
    /// What is read on every tick.
    readings: Readings,
    /// Live and requested bytes of the latest sample.
    sampled: (u64, u64),
    /// The latest tick after that, where it took none; by the session's time.
    passed_ns: Option<u64>,
}

impl Quiet {
    /// Whether a tick sees the same as the one before: no events, and the same readings.
    pub fn sees(&mut self, places: u64, readings: &Readings) -> bool {
        let is_same = places == self.places && *readings == self.readings;
        if !is_same {
            (self.places, self.readings) = (places, readings.clone());
        }
        is_same
    }

    /// A tick takes no sample. It began at the session's time `time_ns`.
    pub fn passes(&mut self, time_ns: u64) {
        self.passed_ns = Some(time_ns);
    }

    /// The next sample will be taken now. Returns the one that belongs before it: `is_news` says whether anything is new.
    pub fn ends(&mut self, is_news: bool) -> Option<Sample> {
        let (live_bytes, requested_bytes) = self.sampled;
        let time_ns = mem::take(&mut self.passed_ns).filter(|_| is_news)?;
        Some(Sample { time_ns, live_bytes, requested_bytes, high_bytes: live_bytes, ..Sample::default() })
    }

    /// This sample was taken.
    pub fn sampled(&mut self, sample: &Sample) {
        self.sampled = (sample.live_bytes, sample.requested_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rss(bytes: u64) -> Readings {
        vec![("rss".into(), Some(bytes))]
    }

    #[test]
    fn events_and_other_readings_are_new() {
        let mut quiet = Quiet::default();
        assert!(!quiet.sees(0, &rss(1)), "the first tick");
        assert!(quiet.sees(0, &rss(1)));
        assert!(!quiet.sees(0, &rss(2)));
        assert!(!quiet.sees(7, &rss(2)));
        assert!(quiet.sees(7, &rss(2)));
    }

    /// Samples at 10 and 50, and ticks without one at 20, 30 and 40.
    #[test]
    fn the_last_of_a_row_has_a_sample_if_something_is_new() {
        let first = Sample { time_ns: 10, live_bytes: 5, requested_bytes: 4, high_bytes: 9, ..Sample::default() };
        let passed = || {
            let mut quiet = Quiet::default();
            quiet.sampled(&first);
            [20, 30, 40].into_iter().for_each(|time_ns| quiet.passes(time_ns));
            quiet
        };
        let expected = Sample { time_ns: 40, high_bytes: 5, ..first.clone() };
        let mut quiet = passed();
        assert_eq!(quiet.ends(true), Some(expected));
        assert_eq!(quiet.ends(true), None, "there was none since");
        assert_eq!(passed().ends(false), None, "the line to the next sample is flat");
    }
}
