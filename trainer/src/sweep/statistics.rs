//! What all runs of a point say together, and which differences between points are larger than their spread.
use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Serialize;
use trainer_statistics::{Interval, Summary, median_interval};

use super::point::{Axis, Point};
use super::record::{Outcome, Record};
use super::table::{point_cells, point_heads};

/// Fewer runs than these claim no difference: of two and two runs of equal points, one in three would seem apart.
const LEAST_RUNS: usize = 3;

/// All runs of one point that gave numbers.
#[derive(Clone, Debug)]
pub(super) struct PointStatistics {
    pub(super) point: Point,
    pub(super) runs: usize,
    /// Of the steps that do not warm up, in nanoseconds.
    pub(super) step_ns: Summary,
    /// Where the median step lies.
    pub(super) step_interval: Interval,
    /// The most live bytes, in the run in the middle.
    pub(super) peak_live_bytes: Option<u64>,
    /// The same by category.
    pub(super) peak_by_category: BTreeMap<String, u64>,
    pub(super) peak_live: Option<Quantity>,
    pub(super) peak_rss: Option<Quantity>,
}

/// A median and where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quantity {
    pub(super) median: f64,
    pub(super) interval: Interval,
}

impl Quantity {
    /// Of one value a run.
    fn of(values: &[f64], seed: u64) -> Option<Quantity> {
        let runs: Vec<Vec<f64>> = values.iter().map(|&value| vec![value]).collect();
        Some(Quantity { median: Summary::of(values)?.median, interval: median_interval(&runs, seed)? })
    }
}

impl PointStatistics {
    /// Nanoseconds for a sample: an image, or a text.
    pub(super) fn sample_ns(&self) -> Quantity {
        let batch = self.point.batch as f64;
        let Interval { low, high } = self.step_interval;
        Quantity { median: self.step_ns.median / batch, interval: Interval { low: low / batch, high: high / batch } }
    }

    /// Samples in a second.
    pub(super) fn samples_per_second(&self) -> Quantity {
        let Quantity { median, interval: Interval { low, high } } = self.sample_ns();
        Quantity { median: 1e9 / median, interval: Interval { low: 1e9 / high, high: 1e9 / low } }
    }
}

/// The points that have numbers, in the order of `points`.
pub(super) fn by_point(points: &[Point], records: &[Record], seed: u64) -> Vec<PointStatistics> {
    points.iter().filter_map(|point| of_point(point, records, seed)).collect()
}

fn of_point(point: &Point, records: &[Record], seed: u64) -> Option<PointStatistics> {
    let of_point = records.iter().filter(|record| record.point == *point && record.outcome == Outcome::Done);
    let runs: Vec<_> = of_point.filter_map(|record| record.measured.as_ref()).collect();
    let steps: Vec<Vec<f64>> = runs.iter().map(|run| run.steady_ns()).collect();
    let mut by_live: Vec<_> = runs.iter().filter(|run| run.peak_live_bytes.is_some()).collect();
    by_live.sort_by_key(|run| run.peak_live_bytes);
    let middle = by_live.get(by_live.len() / 2);
    let values = |of: &dyn Fn(usize) -> Option<u64>| -> Vec<f64> {
        (0..runs.len()).filter_map(|run| Some(of(run)? as f64)).collect()
    };
    Some(PointStatistics {
        point: point.clone(),
        runs: runs.len(),
        step_ns: Summary::of(&steps.concat())?,
        step_interval: median_interval(&steps, seed)?,
        peak_live_bytes: middle.and_then(|run| run.peak_live_bytes),
        peak_by_category: middle.map_or_else(BTreeMap::new, |run| run.peak_by_category.clone()),
        peak_live: Quantity::of(&values(&|run| runs[run].peak_live_bytes), seed),
        peak_rss: Quantity::of(&values(&|run| runs[run].peak_rss_bytes), seed),
    })
}

/// Two points that differ in one axis, compared in one quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Difference {
    /// Whom both are, without the axis.
    pub(super) of: String,
    pub(super) axis: &'static str,
    /// The value on the axis that is compared with ...
    pub(super) base: String,
    /// ... and the one that is compared.
    pub(super) other: String,
    pub(super) quantity: &'static str,
    /// The other's median divided by the base's.
    pub(super) ratio: f64,
    /// Whether it is claimed: both ran three times or more, and the intervals of the medians are apart.
    pub(super) known: bool,
}

/// For every axis, each point beside the first one that differs from it in that axis alone.
pub(super) fn differences(points: &[PointStatistics]) -> Vec<Difference> {
    let mut all = Vec::new();
    for axis in Axis::ALL {
        for (place, other) in points.iter().enumerate() {
            let alike = |base: &&PointStatistics| base.point.differs_only_in(&other.point, axis);
            let Some(base) = points[..place].iter().find(alike) else { continue };
            let quantities = [
                ("time for a sample", Some(base.sample_ns()), Some(other.sample_ns())),
                ("peak live bytes", base.peak_live, other.peak_live),
                ("peak RSS", base.peak_rss, other.peak_rss),
            ];
            for (quantity, one, two) in quantities {
                let (Some(one), Some(two)) = (one, two) else { continue };
                let rest: Vec<Axis> = Axis::ALL.into_iter().filter(|&on| on != axis).collect();
                all.push(Difference {
                    of: other.point.name(&rest),
                    axis: axis.name(),
                    base: base.point.on(axis),
                    other: other.point.on(axis),
                    quantity,
                    ratio: two.median / one.median,
                    known: base.runs.min(other.runs) >= LEAST_RUNS && one.interval.is_apart_from(two.interval),
                });
            }
        }
    }
    all
}

/// `statistics.csv`: a row for each point. Nanoseconds and bytes.
pub(super) fn statistics_csv(points: &[PointStatistics]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let more = [
        "runs",
        "steady_steps",
        "step_ns_min",
        "step_ns_q1",
        "step_ns_median",
        "step_ns_median_low",
        "step_ns_median_high",
        "step_ns_q3",
        "step_ns_p90",
        "step_ns_max",
        "step_ns_mean",
        "step_ns_sd",
        "samples_per_second",
        "peak_live_bytes",
        "peak_rss_bytes",
    ];
    writer.write_record(point_heads().into_iter().chain(more.map(str::to_owned)))?;
    for of in points {
        let Summary { count, min, q1, median, q3, p90, max, mean, sd } = of.step_ns;
        let Interval { low, high } = of.step_interval;
        let numbers = [min, q1, median, low, high, q3, p90, max, mean].map(|number| number.to_string());
        let rest = [
            sd.map_or(String::new(), |sd| sd.to_string()),
            of.samples_per_second().median.to_string(),
            of.peak_live_bytes.map_or(String::new(), |bytes| bytes.to_string()),
            of.peak_rss.map_or(String::new(), |rss| rss.median.to_string()),
        ];
        let counts = [of.runs.to_string(), count.to_string()];
        let cells = point_cells(&of.point).into_iter().chain(counts).chain(numbers).chain(rest);
        writer.write_record(cells)?;
    }
    writer.into_inner().context("a table of text can always be written to memory")
}

/// `differences.csv`.
pub(super) fn differences_csv(differences: &[Difference]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    differences.iter().try_for_each(|difference| writer.serialize(difference))?;
    writer.into_inner().context("a table of text can always be written to memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{point, record};

    /// `runs` runs of a batch, of which each has the steady steps `base` and `base` + 2.
    fn records(batch: u64, bases: &[u64]) -> Vec<Record> {
        let of = |(repeat, &base): (u64, &u64)| {
            record::example(point::example("lenet5", batch), repeat, &[90, 90, 90, base, base + 2])
        };
        (1..).zip(bases).map(of).collect()
    }

    fn compared(one: &[u64], two: &[u64]) -> Difference {
        let records = [records(1, one), records(2, two)].concat();
        let points = [point::example("lenet5", 1), point::example("lenet5", 2)];
        let all = differences(&by_point(&points, &records, 1));
        all.into_iter().find(|difference| difference.quantity == "time for a sample").expect("compared")
    }

    /// Steps of 10 and 12 ns in three runs: the median is 11. With batch 2, 11 ns are 5.5 an image, 181.8 million a second.
    #[test]
    fn the_steps_of_all_runs_of_a_point() {
        let all = by_point(&[point::example("lenet5", 2)], &records(2, &[10, 10, 10]), 1);
        let [point] = &all[..] else { panic!("one point") };
        assert_eq!((point.runs, point.step_ns.count, point.step_ns.median), (3, 6, 11.0));
        assert_eq!(point.sample_ns().median, 5.5);
        assert_eq!(point.samples_per_second().median.round(), 181_818_182.0);
        assert_eq!((point.peak_live_bytes, point.peak_by_category["parameter"]), (Some(3 << 20), 1 << 20));
    }

    /// 10 and 12 ns for one image against 40 and 42 for two: 11 and 20.5 an image.
    #[test]
    fn a_difference_larger_than_the_spread_is_known() {
        let difference = compared(&[10, 10, 10], &[40, 40, 40]);
        assert_eq!((difference.axis, difference.base.as_str(), difference.other.as_str()), ("batch", "1", "2"));
        assert!(difference.known && (difference.ratio - 20.5 / 11.0).abs() < 1e-12, "{difference:?}");
    }

    #[test]
    fn what_lies_within_the_spread_or_ran_too_seldom_is_not_known() {
        assert!(!compared(&[10, 20, 30], &[24, 40, 60]).known, "12 to 31 ns an image and 10 to 32");
        assert!(!compared(&[10, 10], &[40, 40]).known, "two runs each");
    }
}
