//! Energy from the readings of one sensor: the difference of two counts, or power times time.
use super::reading::Reading;

/// More power than any single machine takes, in watts. A counter that says more has jumped.
const MOST_WATTS: f64 = 20_000.0;

/// Makes energy of one sensor's readings. A reading that failed costs the interval around it and no other.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    last: Option<(u64, Reading)>,
    covered_ns: u64,
    most_uw: f64,
    wraps: u64,
    jumps: u64,
    failures: u64,
    failure: String,
}

impl Meter {
    /// Takes a reading at a time in nanoseconds; the result is the energy since the reading before, in microjoules.
    /// `None` when one of the two failed, when the counter jumped, and for the first reading of all.
    ///
    /// Between two readings of power, power is taken to go straight from the one to the other.
    pub fn take(&mut self, time_ns: u64, reading: Result<Reading, String>) -> Option<f64> {
        let reading = match reading {
            Ok(reading) => reading,
            Err(reason) => {
                self.failures += 1;
                self.failure = reason;
                self.last = None;
                return None;
            }
        };
        let (before_ns, before) = self.last.replace((time_ns, reading))?;
        let ns = time_ns.checked_sub(before_ns).filter(|&ns| ns > 0)?;
        let energy_uj = match (before, reading) {
            (Reading::PowerUw(before), Reading::PowerUw(now)) => (before as f64 + now as f64) / 2.0 * ns as f64 / 1e9,
            (Reading::EnergyUj { counted: before, .. }, Reading::EnergyUj { counted: now, range }) => {
                let wrapped = now < before;
                // A count above the range would be a driver's mistake: then nothing was left of it.
                let counted = if wrapped { now.saturating_add(range.saturating_sub(before)) } else { now - before };
                let impossible = counted as f64 > MOST_WATTS * ns as f64 / 1e3;
                if impossible || (wrapped && range <= before) {
                    self.jumps += 1;
                    return None;
                }
                self.wraps += u64::from(wrapped);
                counted as f64
            }
            _ => return None,
        };
        self.covered_ns += ns;
        self.most_uw = self.most_uw.max(energy_uj * 1e9 / ns as f64);
        Some(energy_uj)
    }

    /// How long the energy is known for, in nanoseconds.
    pub fn covered_ns(&self) -> u64 {
        self.covered_ns
    }

    /// The most power in any interval, in microwatts.
    pub fn most_uw(&self) -> u64 {
        self.most_uw.round() as u64
    }

    /// What went wrong, in sentences.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.failures > 0 {
            problems.push(format!("{} readings failed, the last one: {}", self.failures, self.failure));
        }
        if self.jumps > 0 {
            problems.push(format!("the counter jumped {} times; those intervals are not counted", self.jumps));
        }
        if self.wraps > 0 {
            problems.push(format!("the counter began anew {} times, which was made good", self.wraps));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn counter(counted: u64) -> Result<Reading, String> {
        Ok(Reading::EnergyUj { counted, range: 1_000_000 })
    }

    #[test]
    fn power_goes_straight_from_reading_to_reading() {
        let mut meter = Meter::default();
        assert_eq!(meter.take(0, Ok(Reading::PowerUw(1_000_000))), None);
        // 1 W to 3 W in a second: 2 J.
        assert_eq!(meter.take(1_000 * MS, Ok(Reading::PowerUw(3_000_000))), Some(2_000_000.0));
        assert_eq!((meter.covered_ns(), meter.most_uw()), (1_000 * MS, 2_000_000));
        assert_eq!(meter.problems(), Vec::<String>::new());
    }

    #[test]
    fn a_counter_that_begins_anew_loses_nothing() {
        let mut meter = Meter::default();
        meter.take(0, counter(999_900));
        // 100 to the end of the range and 50 from its beginning, in 10 ms: 15 mW.
        assert_eq!(meter.take(10 * MS, counter(50)), Some(150.0));
        assert_eq!(meter.problems(), ["the counter began anew 1 times, which was made good"]);
    }

    /// Back by a little: as the end of a range that would be 999,990 uJ in a microsecond, a megawatt.
    #[test]
    fn a_counter_that_jumps_back_is_not_believed() {
        let mut meter = Meter::default();
        meter.take(0, counter(500));
        assert_eq!(meter.take(1_000, counter(490)), None);
        assert_eq!(meter.take(11_000, counter(500)), Some(10.0), "the next interval counts again");
        assert_eq!(meter.covered_ns(), 10_000);
        assert_eq!(meter.problems(), ["the counter jumped 1 times; those intervals are not counted"]);
        let mut endless = Meter::default();
        let reading = |counted| Ok(Reading::EnergyUj { counted, range: 0 });
        endless.take(0, reading(500));
        assert_eq!(endless.take(MS, reading(400)), None, "a counter without an end cannot begin anew");
    }

    #[test]
    fn a_sensor_that_vanishes_costs_its_own_intervals() {
        let mut meter = Meter::default();
        meter.take(0, counter(0));
        meter.take(10 * MS, counter(1_000));
        assert_eq!(meter.take(20 * MS, Err("no such device".into())), None);
        assert_eq!(meter.take(30 * MS, counter(3_000)), None);
        assert_eq!(meter.take(40 * MS, counter(4_000)), Some(1_000.0));
        assert_eq!(meter.covered_ns(), 20 * MS);
        assert_eq!(meter.problems(), ["1 readings failed, the last one: no such device"]);
    }
}
