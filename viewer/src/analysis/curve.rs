//! Live bytes over time, split into bands that can be stacked.
//!
//! A recorder takes a sample about every 10 ms, so most peaks fall between two samples. The file knows some instants
//! exactly: the peak, the marks with a snapshot and, by category, the peak of every step. These instants are put between
//! the samples, so that the picture is as high as the tables say.
//!
//! A picture has room for some hundred columns. [`Curve::thinned`] keeps the highest and the lowest instant of each
//! column, so that neither a peak nor a trough is lost.
use std::collections::BTreeMap;

use alloc_timeline::{Dimension, Timeline};
use serde::Serialize;

/// The name of the band that sums up all bands beyond the biggest ones.
pub const REST: &str = "rest";

/// One band of a stack. The field names never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Band {
    /// The name of a category, a phase, a layer or an operator, or [`REST`].
    pub name: String,
    /// Its bytes at each instant of the curve.
    pub bytes: Vec<u64>,
    /// Its bytes at the peak.
    pub at_peak: u64,
}

/// Live bytes over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    /// The dimension that splits the bytes into bands.
    pub dimension: Dimension,
    /// The instants, since the session began.
    pub time_ns: Vec<u64>,
    /// The bands, the biggest at the peak first.
    pub bands: Vec<Band>,
    /// The sum of the bands at each instant.
    pub total: Vec<u64>,
    /// The most live bytes between the previous instant and this one.
    pub high: Vec<u64>,
    /// Resident bytes, each with the instant at which a probe read them.
    pub rss: Vec<(u64, u64)>,
}

/// The live bytes of one instant.
struct CurvePoint {
    time_ns: u64,
    /// Bytes by the names of one dimension.
    split: BTreeMap<String, u64>,
    /// The most live bytes since the previous sample.
    high: u64,
}

/// The curve of a run, split by one dimension into the `most` biggest bands and the rest.
pub fn curve(timeline: &Timeline, dimension: Dimension, most: usize) -> Curve {
    let points = points(timeline, dimension);
    let bands = bands(&points, &timeline.peak.by(&timeline.scopes, dimension), most);
    let rss = timeline.series.probes.get("rss").map(Vec::as_slice).unwrap_or_default();
    Curve {
        dimension,
        total: points.iter().map(|point| sum(point.split.values())).collect(),
        high: points.iter().map(|point| point.high).collect(),
        time_ns: points.iter().map(|point| point.time_ns).collect(),
        bands,
        rss: timeline.series.time_ns.iter().zip(rss).filter_map(|(time, rss)| Some((*time, (*rss)?))).collect(),
    }
}

/// The `most` biggest bands of these instants and the rest, the biggest at the peak first.
fn bands(points: &[CurvePoint], at_peak: &BTreeMap<String, u64>, most: usize) -> Vec<Band> {
    let mut greatest: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, bytes) in points.iter().flat_map(|point| &point.split) {
        let seen = greatest.entry(name).or_default();
        *seen = (*seen).max(*bytes);
    }
    let mut names: Vec<&str> = greatest.iter().filter(|(_, bytes)| **bytes > 0).map(|(name, _)| *name).collect();
    let rank = |name: &str| (at_peak.get(name).copied().unwrap_or(0), greatest.get(name).copied().unwrap_or(0));
    names.sort_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| a.cmp(b)));
    // A rest of one band is shown under the band's own name.
    let shown = if names.len() == most + 1 { most + 1 } else { most.min(names.len()) };
    let (first, rest) = names.split_at(shown);

    let of = |names: &[&str], split: &BTreeMap<String, u64>| sum(names.iter().filter_map(|name| split.get(*name)));
    let band = |name: &str, names: &[&str]| Band {
        name: name.to_owned(),
        bytes: points.iter().map(|point| of(names, &point.split)).collect(),
        at_peak: of(names, at_peak),
    };
    let mut bands: Vec<Band> = first.iter().map(|name| band(name, &[name])).collect();
    if !rest.is_empty() {
        bands.push(band(REST, rest));
    }
    bands
}

/// A sum that stays at the largest number where a damaged file would have it overflow.
fn sum<'a>(bytes: impl Iterator<Item = &'a u64>) -> u64 {
    bytes.fold(0, |sum, bytes| sum.saturating_add(*bytes))
}

/// The bytes of each name of one dimension in the sample with this index.
fn split_of_sample(timeline: &Timeline, dimension: Dimension, index: usize) -> BTreeMap<String, u64> {
    timeline.series.by(dimension).iter().map(|(name, column)| (name.clone(), column[index])).collect()
}

/// The live bytes of these samples, split by one dimension into the `most` biggest bands and the rest. `of_peak`, one of the
/// samples, ranks the bands.
pub(super) fn bands_of_samples(
    timeline: &Timeline,
    dimension: Dimension,
    samples: &[usize],
    of_peak: usize,
    most: usize,
) -> Vec<Band> {
    let series = &timeline.series;
    let point = |&index: &usize| CurvePoint {
        time_ns: series.time_ns[index],
        split: split_of_sample(timeline, dimension, index),
        high: series.high_bytes[index],
    };
    let points: Vec<CurvePoint> = samples.iter().map(point).collect();
    bands(&points, &split_of_sample(timeline, dimension, of_peak), most)
}

/// The samples and the exactly known instants, in the order of time.
fn points(timeline: &Timeline, dimension: Dimension) -> Vec<CurvePoint> {
    let series = &timeline.series;
    let mut points: Vec<CurvePoint> = Vec::with_capacity(series.time_ns.len() + timeline.steps.len() + 1);
    for (index, time_ns) in series.time_ns.iter().enumerate() {
        let split = split_of_sample(timeline, dimension, index);
        points.push(CurvePoint { time_ns: *time_ns, split, high: series.high_bytes[index] });
    }
    let marks = timeline.marks.iter().filter_map(|mark| mark.snapshot.as_ref());
    for snapshot in marks.chain([&timeline.peak]).filter(|snapshot| snapshot.live_bytes > 0) {
        let split = snapshot.by(&timeline.scopes, dimension);
        points.push(CurvePoint { time_ns: snapshot.time_ns, split, high: snapshot.live_bytes });
    }
    if dimension == Dimension::Category {
        let others = timeline.steps.iter().filter(|step| step.peak_ns != timeline.peak.time_ns);
        points.extend(others.map(|step| CurvePoint {
            time_ns: step.peak_ns,
            split: step.by_category.clone(),
            high: step.live_bytes,
        }));
    }
    points.sort_by_key(|point| point.time_ns);
    points
}

impl Curve {
    /// The first and the last instant. They are equal when there are fewer than two instants.
    pub fn span(&self) -> (u64, u64) {
        (self.time_ns.first().copied().unwrap_or(0), self.time_ns.last().copied().unwrap_or(0))
    }

    /// Indices of the bands, from the bottom of a picture to its top. The steadiest band lies lowest, so that bands that
    /// come and go do not move the others up and down. A band is steady when its mean is near its maximum.
    pub fn stacking_order(&self) -> Vec<usize> {
        let steadiness = |band: &Band| {
            let most = band.bytes.iter().copied().max().unwrap_or(0).max(1);
            let sum: u128 = band.bytes.iter().map(|bytes| u128::from(*bytes)).sum();
            // Steadiness counts in thousandths, so that bands of about the same steadiness keep their order by size.
            sum * 1000 / (u128::from(most) * band.bytes.len().max(1) as u128)
        };
        let mut order: Vec<usize> = (0..self.bands.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(steadiness(&self.bands[index])));
        order
    }

    /// The same curve with fewer instants: of each of `columns` equal spans of time only the highest and the lowest stay.
    /// The first and the last instant always stay.
    pub fn thinned(&self, columns: usize) -> Curve {
        let count = self.time_ns.len();
        let (start, end) = self.span();
        if count <= 2 * columns || end == start {
            return self.clone();
        }
        let column = |time: u64| (u128::from(time - start) * columns as u128 / (u128::from(end - start) + 1)) as usize;
        let mut kept: Vec<usize> = vec![0];
        let mut from = 0;
        while from < count {
            let here = column(self.time_ns[from]);
            let to = (from..count).find(|&index| column(self.time_ns[index]) != here).unwrap_or(count);
            // Of equally high instants the latest one stays, as it does for the recorded peak.
            let highest = (from..to).max_by_key(|&index| self.total[index]).unwrap_or(from);
            let lowest = (from..to).min_by_key(|&index| self.total[index]).unwrap_or(from);
            kept.extend([highest.min(lowest), highest.max(lowest)]);
            from = to;
        }
        kept.push(count - 1);
        kept.sort_unstable();
        kept.dedup();
        let pick = |column: &[u64]| kept.iter().map(|&index| column[index]).collect();
        // The highest bytes between two kept instants go to the second of them.
        let mut before = 0;
        let mut high = Vec::with_capacity(kept.len());
        for &index in &kept {
            high.push(self.high[before..=index].iter().copied().max().unwrap_or(0));
            before = index + 1;
        }
        Curve {
            dimension: self.dimension,
            time_ns: pick(&self.time_ns),
            bands: self.bands.iter().map(|band| Band { bytes: pick(&band.bytes), ..band.clone() }).collect(),
            total: pick(&self.total),
            high,
            rss: thinned_line(&self.rss, columns, start, end),
        }
    }
}

/// A line of (time, bytes) with at most two points in each column: the highest and the lowest.
fn thinned_line(line: &[(u64, u64)], columns: usize, start: u64, end: u64) -> Vec<(u64, u64)> {
    let column = |time: u64| {
        (u128::from(time.saturating_sub(start)) * columns as u128 / (u128::from(end.saturating_sub(start)) + 1))
            as usize
    };
    let mut kept = Vec::new();
    for group in line.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let highest = group.iter().max_by_key(|point| point.1);
        let lowest = group.iter().min_by_key(|point| point.1);
        let mut ends: Vec<(u64, u64)> = highest.into_iter().chain(lowest).copied().collect();
        ends.sort_unstable();
        ends.dedup();
        kept.extend(ends);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn the_peak_stands_between_the_samples_with_its_exact_height() {
        let curve = curve(&tiny(), Dimension::Category, 10);
        // Six samples, and the peak at 4 ms between those at 3.5 and 4.5 ms; the step's peak is the same instant.
        assert_eq!(curve.time_ns.len(), 7);
        assert_eq!(curve.time_ns[4], 4_000_000);
        assert_eq!(curve.total, [512, 4736, 12_928, 14_976, 16_000, 13_952, 5760]);
        assert_eq!(curve.total.iter().max(), Some(&16_000));
    }

    #[test]
    fn bands_are_sorted_by_the_peak_and_sum_to_the_total() {
        let curve = curve(&tiny(), Dimension::Category, 2);
        let names: Vec<&str> = curve.bands.iter().map(|band| band.name.as_str()).collect();
        assert_eq!(names, ["activation", "parameter", REST]);
        assert_eq!(curve.bands[2].at_peak, 1024 + 512 + 128);
        for (index, total) in curve.total.iter().enumerate() {
            assert_eq!(curve.bands.iter().map(|band| band.bytes[index]).sum::<u64>(), *total);
        }
    }

    #[test]
    fn what_stays_lies_below_what_comes_and_goes() {
        let curve = curve(&tiny(), Dimension::Category, 10);
        let stack: Vec<&str> =
            curve.stacking_order().into_iter().map(|index| curve.bands[index].name.as_str()).collect();
        // Runtime is there always, parameters and other from the second instant, activations in 4 of 7, the gradient
        // in 3 of 7.
        assert_eq!(stack, ["runtime", "parameter", "other", "activation", "gradient"]);
    }

    #[test]
    fn a_rest_of_one_keeps_its_name() {
        let curve = curve(&tiny(), Dimension::Category, 4);
        assert_eq!(curve.bands.last().map(|band| band.name.as_str()), Some("other"));
    }

    #[test]
    fn thinning_keeps_peaks_troughs_and_ends() {
        let count = 10_000u64;
        let total: Vec<u64> = (0..count).map(|i| if i == 5555 { 9999 } else { 100 + i % 7 }).collect();
        let curve = Curve {
            dimension: Dimension::Category,
            time_ns: (0..count).collect(),
            bands: vec![Band { name: "all".into(), bytes: total.clone(), at_peak: 9999 }],
            high: total.iter().map(|bytes| bytes + 1).collect(),
            rss: (0..count).zip(total.iter().copied()).collect(),
            total,
        };
        let thin = curve.thinned(100);
        assert!(thin.time_ns.len() <= 202 && thin.rss.len() <= 200, "{} {}", thin.time_ns.len(), thin.rss.len());
        assert_eq!(thin.total.iter().max(), Some(&9999));
        assert_eq!(thin.total.iter().min(), Some(&100));
        assert_eq!(thin.high.iter().max(), Some(&10_000));
        assert_eq!(thin.span(), curve.span());
        assert_eq!(thin.bands[0].bytes, thin.total);
    }

    #[test]
    fn a_run_without_samples_is_one_instant() {
        let mut run = tiny();
        run.series = Default::default();
        run.steps.clear();
        let curve = curve(&run, Dimension::Phase, 10).thinned(10);
        assert_eq!(curve.total, [16_000]);
        run.peak = Default::default();
        assert!(super::curve(&run, Dimension::Phase, 10).time_ns.is_empty());
    }
}
