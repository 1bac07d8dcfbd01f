//! The result of one measurement: a number, how sure it is, and the limit it is compared with.

use serde_json::{Value, json};
use trainer_statistics::{Interval, median, range};

use super::rounds::Compared;

/// The verdict of what may lie on either side of its limit.
const UNKNOWN: &str = "not known";
/// Rounds whose middle half disagrees by more than this are called noisy.
const NOISY: f64 = 0.10;

/// One line of the table.
#[derive(Debug)]
pub struct Measurement {
    /// Its name in the JSON.
    pub key: &'static str,
    /// What is measured, in words.
    pub title: String,
    /// The most it may be, where there is a limit.
    pub limit: Option<f64>,
    /// What was measured.
    pub reading: Reading,
}

/// What was measured.
#[derive(Debug)]
pub enum Reading {
    /// A ratio of times, from rounds; the times are nanoseconds.
    Ratio {
        /// What is judged.
        judged: Compared,
        /// The same in CPU time, as a check on a busy machine, where that is not what is judged.
        cpu: Option<Compared>,
    },
    /// A share of one core in percent, by two instruments, and how long each run was.
    Share {
        /// The probes alone, by their own stopwatches.
        probes: Vec<f64>,
        /// All that the threads do which read them, by the kernel; NaN where it does not tell.
        threads: Vec<f64>,
        /// The runs, in seconds.
        seconds: Vec<f64>,
    },
    /// A number that is read once, and where it comes from.
    Number(f64, String),
    /// Nothing was measured, for this reason.
    Skipped(String),
}

impl Measurement {
    /// The number; none when it could not be measured.
    pub fn value(&self) -> Option<f64> {
        match &self.reading {
            Reading::Ratio { judged, .. } => Some(judged.ratio()),
            Reading::Share { probes, .. } => Some(median(probes)),
            Reading::Number(value, _) => Some(*value),
            Reading::Skipped(_) => None,
        }
    }

    /// `met`, `not met` or `not known`; nothing where there is no limit or no number. Of a ratio, where the interval of its
    /// median lies: below the limit, above it, or on both sides. Of a share, whether all runs kept the limit, none, or some.
    pub fn verdict(&self) -> &'static str {
        let Some(limit) = self.limit else { return "" };
        let (low, high) = match &self.reading {
            Reading::Ratio { judged, .. } => {
                let Interval { low, high } = judged.interval();
                (low, high)
            }
            Reading::Share { probes, .. } => range(probes),
            Reading::Number(value, _) => (*value, *value),
            Reading::Skipped(_) => return "",
        };
        if high <= limit {
            "met"
        } else if low > limit {
            "not met"
        } else {
            UNKNOWN
        }
    }

    /// Whether more rounds could not say more: there is a verdict.
    pub fn is_judged(&self) -> bool {
        self.verdict() != UNKNOWN
    }

    /// How it was measured, for people.
    pub fn detail(&self) -> String {
        match &self.reading {
            Reading::Ratio { judged, cpu } => {
                let Interval { low, high } = judged.interval();
                let (least, most) = range(&judged.ratios());
                let noisy = if judged.spread() > NOISY { ", noisy" } else { "" };
                let (a, b) = (time(median(&judged.a)), time(median(&judged.b)));
                let rounds = judged.a.len();
                let cpu = cpu.as_ref().map_or(String::new(), |cpu| format!("; in CPU time {:.3}", cpu.ratio()));
                format!(
                    "95 % interval {low:.3} to {high:.3}; {a} / {b}; {least:.3} to {most:.3} in {rounds} rounds{noisy}{cpu}"
                )
            }
            Reading::Share { probes, threads, seconds } => {
                let ((low, high), (least, most)) = (range(probes), range(seconds));
                let (all, runs) = (median(threads), probes.len());
                let check = if all.is_nan() {
                    "the kernel does not tell what the threads take".to_owned()
                } else {
                    let wrong =
                        if all < median(probes) { ": less than the probes, so one of them is wrong" } else { "" };
                    format!("the tracker's threads in all, by the kernel: {all:.3}{wrong}")
                };
                format!("{low:.3} to {high:.3} in {runs} runs of {least:.0} to {most:.0} s; {check}")
            }
            Reading::Number(_, detail) | Reading::Skipped(detail) => detail.clone(),
        }
    }

    /// How it was measured, for programs.
    pub fn json(&self) -> Value {
        let mut object = json!({ "title": self.title, "limit": self.limit, "verdict": self.verdict() });
        let more = match &self.reading {
            Reading::Ratio { judged, cpu } => {
                let (low, high) = range(&judged.ratios());
                let interval = judged.interval();
                json!({
                    "runs": judged.a.len(),
                    "low": low,
                    "high": high,
                    "interval_low": interval.low,
                    "interval_high": interval.high,
                    "noisy": judged.spread() > NOISY,
                    "cpu_time_ratio": cpu.as_ref().map(Compared::ratio),
                    "a_ns": judged.a,
                    "b_ns": judged.b,
                })
            }
            Reading::Share { probes, threads, seconds } => {
                let (low, high) = range(probes);
                json!({
                    "runs": probes.len(), "low": low, "high": high, "probes_percent": probes,
                    "threads_percent": threads, "seconds": seconds,
                })
            }
            Reading::Number(_, detail) => json!({ "runs": 1, "detail": detail }),
            Reading::Skipped(why) => json!({ "runs": 0, "skipped": why }),
        };
        if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
            object.extend(more);
        }
        object
    }
}

/// A time in the unit that suits it.
pub fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        short if short < 1e4 => format!("{short:.1} ns"),
        middle if middle < 1e6 => format!("{:.1} µs", middle / 1e3),
        middle if middle < 1e9 => format!("{:.1} ms", middle / 1e6),
        long => format!("{:.3} s", long / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(reading: Reading) -> Measurement {
        Measurement { key: "key", title: "tracked / untracked".to_owned(), limit: Some(1.05), reading }
    }

    fn ratio(a: &[f64], b: &[f64]) -> Reading {
        Reading::Ratio { judged: Compared::new(a, b), cpu: Some(Compared::new(a, b)) }
    }

    #[test]
    fn a_ratio_is_told_with_its_spread() {
        let measurement = measurement(ratio(&[1.02e9, 1.04e9], &[1e9, 1e9]));
        assert_eq!(
            measurement.detail(),
            "95 % interval 1.020 to 1.040; 1.030 s / 1.000 s; 1.020 to 1.040 in 2 rounds; in CPU time 1.030"
        );
        assert_eq!((measurement.value(), measurement.verdict()), (Some(1.03), "met"));
        let json = measurement.json();
        assert_eq!((&json["runs"], &json["low"], &json["high"]), (&json!(2), &json!(1.02), &json!(1.04)));
        assert_eq!((&json["interval_low"], &json["interval_high"]), (&json!(1.02), &json!(1.04)));
    }

    #[test]
    fn rounds_that_disagree_are_called_noisy() {
        let noisy = measurement(ratio(&[10.0, 15.0, 20.0, 25.0, 30.0], &[10.0; 5]));
        let detail = "20.0 ns / 10.0 ns; 1.000 to 3.000 in 5 rounds, noisy; in CPU time 2.000";
        assert!(noisy.detail().ends_with(detail), "{}", noisy.detail());
        assert_eq!(noisy.verdict(), "not known");
    }

    /// A limit of 1.05 that lies above, in and below the interval of the median.
    #[test]
    fn a_ratio_is_judged_by_the_interval_of_its_median() {
        let of = |ratios: [f64; 5]| measurement(ratio(&ratios, &[1.0; 5]));
        let all =
            [[1.0, 1.01, 1.02, 1.03, 1.04], [1.0, 1.02, 1.04, 1.06, 1.08], [1.06, 1.07, 1.08, 1.09, 1.10]].map(of);
        assert_eq!(all.each_ref().map(Measurement::verdict), ["met", "not known", "not met"]);
        assert_eq!(all.each_ref().map(Measurement::is_judged), [true, false, true]);
    }

    #[test]
    fn a_share_is_judged_by_all_of_its_runs() {
        let share = |probes: [f64; 3]| Measurement {
            limit: Some(1.0),
            ..measurement(Reading::Share { probes: probes.into(), threads: vec![1.5; 3], seconds: vec![5.0, 5.2, 6.4] })
        };
        let verdicts = [[0.5, 0.9, 1.0], [0.5, 0.6, 1.1], [1.1, 1.2, 1.3]].map(|probes| share(probes).verdict());
        assert_eq!(verdicts, ["met", "not known", "not met"]);
        let detail = "0.500 to 0.900 in 3 runs of 5 to 6 s; the tracker's threads in all, by the kernel: 1.500";
        assert_eq!(share([0.5, 0.9, 0.7]).detail(), detail);
        assert_eq!(share([0.5, 0.9, 0.7]).value(), Some(0.7));
        assert!(share([1.6; 3]).detail().ends_with("less than the probes, so one of them is wrong"));
    }

    #[test]
    fn what_could_not_be_measured_is_not_judged() {
        let nothing = measurement(Reading::Skipped("no valgrind".to_owned()));
        assert_eq!((nothing.value(), nothing.verdict(), nothing.detail().as_str()), (None, "", "no valgrind"));
        assert_eq!(nothing.json()["skipped"], "no valgrind");
    }
}
