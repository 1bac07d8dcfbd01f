//! One change beside the step as it is: what it saves, in which layers, and what it costs.
use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;
use trainer_statistics::{Interval, median, median_interval};

/// Less than this part of the peak counts as nothing: allocations that no step makes twice differ by as much.
const NOTHING: f64 = 0.002;

/// What runs of one kind showed.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Most bytes that were live at once: one number a run.
    pub(super) peaks: Vec<f64>,
    /// The time of a typical step, in nanoseconds: one number a run.
    pub(super) step_ns: Vec<f64>,
    /// Live bytes at the peak by layer, of the first run.
    pub(super) by_layer: BTreeMap<String, u64>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    /// What is typed for it.
    pub(super) change: String,
    /// How what is learned differs.
    pub(super) result: &'static str,
    /// The median of the peaks of live bytes.
    pub(super) peak_bytes: f64,
    /// By how much that is below the peak of the step as it is; negative where it is above.
    pub(super) saved_bytes: f64,
    /// The time of its step in times of the step as it is: the median of the rounds, and the interval of that.
    pub(super) time: f64,
    pub(super) time_low: f64,
    pub(super) time_high: f64,
    /// Bytes saved for each second that a step takes longer; none where no time is known to be lost, or nothing is saved.
    pub(super) bytes_a_lost_second: Option<f64>,
    /// By how much the layers' bytes at the peak are below those of the step as it is, in bytes.
    pub(super) saved_by_layer: BTreeMap<String, i64>,
}

impl Row {
    /// `changed` beside `plain`; runs of both took turns. `seed` is of the interval.
    pub(super) fn of(
        change: String,
        result: &'static str,
        changed: &Measured,
        plain: &Measured,
        seed: u64,
    ) -> Option<Row> {
        let ratios: Vec<f64> = changed.step_ns.iter().zip(&plain.step_ns).map(|(one, other)| one / other).collect();
        let rounds: Vec<Vec<f64>> = ratios.iter().map(|ratio| vec![*ratio]).collect();
        let Interval { low, high } = median_interval(&rounds, seed)?;
        let (peak_bytes, plain_bytes) = (median(&changed.peaks), median(&plain.peaks));
        let saved_bytes = plain_bytes - peak_bytes;
        let time = median(&ratios);
        let lost_seconds = (time - 1.0) * median(&plain.step_ns) / 1e9;
        let is_known = low > 1.0 && saved_bytes > NOTHING * plain_bytes;
        Some(Row {
            change,
            result,
            peak_bytes,
            saved_bytes,
            time,
            time_low: low,
            time_high: high,
            bytes_a_lost_second: is_known.then(|| saved_bytes / lost_seconds),
            saved_by_layer: saved_by_layer(&changed.by_layer, &plain.by_layer),
        })
    }

    /// Whether it saves anything, of a step that takes so many bytes.
    pub(super) fn saves(&self) -> bool {
        self.saved_bytes > NOTHING * (self.peak_bytes + self.saved_bytes)
    }

    /// Whether it takes more, by as much as counts.
    fn takes(&self) -> bool {
        -self.saved_bytes > NOTHING * (self.peak_bytes + self.saved_bytes)
    }

    /// Best first: what saves and is not known to cost time, by what it saves; what saves and costs time, by the bytes for each lost
    /// second; and what saves nothing, by what it takes besides.
    pub(super) fn better(&self, other: &Row) -> Ordering {
        let rank = |row: &Row| match (row.saves(), row.bytes_a_lost_second) {
            (true, None) => (0, row.saved_bytes),
            (true, Some(bytes)) => (1, bytes),
            (false, _) => (2, row.saved_bytes),
        };
        let ((rank, worth), (others_rank, others_worth)) = (rank(self), rank(other));
        rank.cmp(&others_rank).then(others_worth.total_cmp(&worth))
    }

    /// The layers that save most, largest first; none where nothing is saved. Of a change that takes more, the layers that take most.
    pub(super) fn layers(&self, count: usize) -> Vec<(&str, i64)> {
        let sign = match (self.saves(), self.takes()) {
            (true, _) => 1,
            (_, true) => -1,
            _ => return Vec::new(),
        };
        let mut layers: Vec<(&str, i64)> =
            self.saved_by_layer.iter().map(|(layer, bytes)| (layer.as_str(), *bytes)).collect();
        layers.sort_by_key(|(layer, bytes)| (-sign * bytes, *layer));
        layers.retain(|(_, bytes)| sign * bytes > 0);
        layers.truncate(count);
        layers
    }
}

/// What each layer saves; layers that save nothing are left out.
fn saved_by_layer(changed: &BTreeMap<String, u64>, plain: &BTreeMap<String, u64>) -> BTreeMap<String, i64> {
    let bytes = |of: &BTreeMap<String, u64>, layer: &str| of.get(layer).map_or(0, |bytes| *bytes as i64);
    let all = changed.keys().chain(plain.keys());
    let saved = all.map(|layer| (layer.clone(), bytes(plain, layer) - bytes(changed, layer)));
    saved.filter(|(_, bytes)| *bytes != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1_048_576.0;

    fn measured(peak: f64, step_ms: [f64; 3], layers: &[(&str, u64)]) -> Measured {
        let by_layer = layers.iter().map(|(layer, bytes)| ((*layer).to_owned(), *bytes)).collect();
        Measured { peaks: vec![peak; 3], step_ns: step_ms.map(|ms| ms * 1e6).to_vec(), by_layer }
    }

    fn row(name: &str, peak: f64, step_ms: [f64; 3]) -> Row {
        let plain = measured(100.0 * MIB, [100.0, 200.0, 100.0], &[("a", 60), ("b", 40)]);
        let changed = measured(peak, step_ms, &[("a", 70), ("c", 5)]);
        Row::of(name.to_owned(), "equal", &changed, &plain, 1).expect("measured")
    }

    /// 30 MiB less for a step of 110, 220 and 110 ms in place of 100, 200 and 100: 30 MiB for a hundredth of a second.
    #[test]
    fn bytes_for_a_lost_second() {
        let row = row("x", 70.0 * MIB, [110.0, 220.0, 110.0]);
        assert!((row.time - 1.1).abs() < 1e-9 && row.time_low > 1.0, "{row:?}");
        let bytes = row.bytes_a_lost_second.expect("known");
        assert!((bytes - 3_000.0 * MIB).abs() < 1.0, "{bytes}");
        assert_eq!(row.layers(5), [("b", 40)], "a takes more: {row:?}");
    }

    #[test]
    fn a_layer_that_is_there_once_counts_as_nothing_before() {
        let more = row("x", 130.0 * MIB, [100.0; 3]);
        assert_eq!(more.layers(5), [("a", -10), ("c", -5)]);
        assert!(!more.saves());
        assert_eq!(row("x", 99.9 * MIB, [100.0; 3]).layers(5), [], "a tenth of a hundredth is nothing");
    }

    #[test]
    fn best_first() {
        let mut rows = [
            row("takes more", 120.0 * MIB, [90.0, 180.0, 90.0]),
            row("slow", 50.0 * MIB, [150.0, 300.0, 150.0]),
            row("free", 90.0 * MIB, [101.0, 198.0, 99.0]),
            row("quick", 80.0 * MIB, [101.0, 202.0, 101.0]),
            row("nothing", 99.9 * MIB, [100.0, 200.0, 100.0]),
            row("faster", 70.0 * MIB, [90.0, 180.0, 90.0]),
        ];
        rows.sort_by(Row::better);
        let names: Vec<&str> = rows.iter().map(|row| row.change.as_str()).collect();
        assert_eq!(names, ["faster", "free", "quick", "slow", "nothing", "takes more"]);
    }
}
