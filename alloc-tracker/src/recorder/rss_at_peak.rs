//! The resident set at the peak of the live bytes: of all readings the one nearest to the peak.

/// A reading of the resident set.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// Nanoseconds since the session began.
    time_ns: u64,
    bytes: u64,
}

/// See the module's description. A new peak is always later than the reading before the latest one, so that two readings
/// are enough to find the nearest.
#[derive(Debug, Default)]
pub struct RssAtPeak {
    before_latest: Option<Reading>,
    latest: Option<Reading>,
    /// When the peak was, in nanoseconds since the session began.
    peak_ns: u64,
    nearest: Option<Reading>,
}

impl RssAtPeak {
    /// Adds a reading; `time_ns` is the time since the session began.
    pub fn push(&mut self, time_ns: u64, bytes: u64) {
        self.before_latest = self.latest.replace(Reading { time_ns, bytes });
        // The peak can be nearer to the first reading after it.
        self.nearest = self.nearest_of([self.nearest, self.latest]);
    }

    /// The bytes at the peak, which was `peak_ns` after the session began: that of the last call, or a later one.
    pub fn at(&mut self, peak_ns: u64) -> Option<u64> {
        if peak_ns != self.peak_ns {
            self.peak_ns = peak_ns;
            self.nearest = self.nearest_of([self.before_latest, self.latest]);
        }
        self.nearest.map(|reading| reading.bytes)
    }

    fn nearest_of(&self, readings: [Option<Reading>; 2]) -> Option<Reading> {
        readings.into_iter().flatten().min_by_key(|reading| reading.time_ns.abs_diff(self.peak_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A peak at 95 lies between the readings at 90 and 100, and is nearer to a late one at 97.
    #[test]
    fn the_nearest_reading_counts() {
        let mut rss = RssAtPeak::default();
        assert_eq!(rss.at(5), None);
        rss.push(90, 9_000);
        assert_eq!(rss.at(94), Some(9_000));
        rss.push(97, 9_700);
        assert_eq!(rss.at(94), Some(9_700), "the first reading after the peak is nearer");
        rss.push(110, 11_000);
        assert_eq!(rss.at(94), Some(9_700));
        assert_eq!(rss.at(104), Some(11_000), "of a new peak");
    }

    /// A run of a quarter of an hour with its peak in the first second.
    #[test]
    fn an_early_peak_keeps_its_reading() {
        let mut rss = RssAtPeak::default();
        for tick in 0..90_000 {
            rss.push(tick * 10_000_000, if tick == 50 { 777 } else { tick });
            let peak_ns = tick.min(50) * 10_000_000;
            rss.at(peak_ns);
        }
        assert_eq!(rss.at(500_000_000), Some(777));
    }
}
