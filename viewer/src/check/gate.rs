//! Compares the peak of a run with that of a baseline, name by name.
//!
//! Without limits, only the rows of tensor categories count. The sizes of tensors follow from the model alone and are the
//! same to the byte in each run, so not one byte of growth is allowed. With limits, all rows count, and so does the total.
use std::collections::BTreeMap;

use alloc_timeline::{Dimension, Row, split_by};
use serde::Serialize;

use crate::check::limit::Limit;
use crate::model::Run;

/// How the bytes of one name changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NameChange {
    /// `total`, `phase`, `layer` or `category`.
    pub dimension: &'static str,
    /// The name of a phase, a layer or a category.
    pub name: String,
    /// Bytes in the baseline.
    pub before_bytes: u64,
    /// Bytes in the checked run.
    pub after_bytes: u64,
    /// The growth that was allowed.
    pub allowed_bytes: u64,
}

impl NameChange {
    /// By how many bytes it grew; negative where it shrank.
    pub fn difference(&self) -> i128 {
        i128::from(self.after_bytes) - i128::from(self.before_bytes)
    }
}

/// The names that were compared, and those whose bytes changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateResult {
    /// Number of names that were compared.
    pub compared: usize,
    /// The names that grew by more than is allowed, the largest growth first.
    pub failures: Vec<NameChange>,
    /// The names that grew within the limit.
    pub within: Vec<NameChange>,
    /// The names that shrank, the largest difference first.
    pub shrunk: Vec<NameChange>,
}

/// Compares the peaks of two runs. The widest of several limits counts for each name.
pub fn gate(checked: &Run, baseline: &Run, limits: &[Limit]) -> GateResult {
    let tensors_only = limits.is_empty();
    let is_compared = |row: &&Row| !tensors_only || row.category.is_tensor();
    let split = |run: &Run, dimension| -> BTreeMap<String, u64> {
        let rows: Vec<Row> = run.timeline.peak.rows.iter().filter(is_compared).copied().collect();
        split_by(&rows, run.scopes(), dimension, |row| row.usable_bytes)
    };
    let mut result = GateResult::default();
    if !tensors_only {
        let total = |run: &Run| [("live bytes".to_owned(), run.timeline.peak.live_bytes)].into();
        result.compare("total", total(baseline), total(checked), limits);
    }
    for dimension in [Dimension::Category, Dimension::Phase, Dimension::Layer] {
        result.compare(dimension.name(), split(baseline, dimension), split(checked, dimension), limits);
    }
    // The sort is stable: among equal differences, categories come before phases and phases before layers.
    result.failures.sort_by_key(|failure| std::cmp::Reverse(failure.difference()));
    result.shrunk.sort_by_key(NameChange::difference);
    result
}

impl GateResult {
    /// Compares the bytes of each name of one dimension.
    fn compare(
        &mut self,
        dimension: &'static str,
        before: BTreeMap<String, u64>,
        after: BTreeMap<String, u64>,
        limits: &[Limit],
    ) {
        let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
        names.sort_unstable();
        names.dedup();
        self.compared += names.len();
        for name in names {
            let before_bytes = before.get(name).copied().unwrap_or(0);
            let after_bytes = after.get(name).copied().unwrap_or(0);
            let allowed_bytes = limits.iter().map(|limit| limit.allows(before_bytes)).max().unwrap_or(0);
            let change = NameChange { dimension, name: name.clone(), before_bytes, after_bytes, allowed_bytes };
            match change.difference() {
                0 => {}
                ..0 => self.shrunk.push(change),
                growth if growth > i128::from(allowed_bytes) => self.failures.push(change),
                _ => self.within.push(change),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;
    use alloc_timeline::{Category, Timeline};

    /// A run with more bytes in the first row of a category.
    fn grown(category: Category, by: i64) -> Run {
        let mut timeline: Timeline = tiny();
        let row = timeline.peak.rows.iter_mut().find(|row| row.category == category).unwrap();
        row.usable_bytes = row.usable_bytes.checked_add_signed(by).unwrap();
        timeline.peak.live_bytes = timeline.peak.live_bytes.checked_add_signed(by).unwrap();
        Run::new("grown", timeline)
    }

    fn base() -> Run {
        Run::new("base", tiny())
    }

    fn names(changes: &[NameChange]) -> Vec<(&str, &str, i128)> {
        changes.iter().map(|change| (change.dimension, change.name.as_str(), change.difference())).collect()
    }

    #[test]
    fn one_byte_of_activation_fails_in_every_dimension() {
        let gate = gate(&grown(Category::Activation, 1), &base(), &[]);
        assert_eq!(
            names(&gate.failures),
            [("category", "activation", 1), ("phase", "forward", 1), ("layer", "conv1", 1)]
        );
    }

    #[test]
    fn bytes_that_are_no_tensors_are_not_gated_unless_a_limit_says_so() {
        let other = grown(Category::Other, 100);
        assert_eq!(gate(&other, &base(), &[]).failures, []);
        let limited = gate(&other, &base(), &[Limit::Bytes(99)]);
        assert_eq!(limited.failures.len(), 4, "{:?}", names(&limited.failures));
        let wide = gate(&other, &base(), &[Limit::Bytes(100)]);
        assert_eq!((wide.failures.len(), wide.within.len()), (0, 4));
    }

    #[test]
    fn shrinking_passes_and_is_told() {
        let gate = gate(&grown(Category::Gradient, -24), &base(), &[]);
        assert_eq!(gate.failures, []);
        assert_eq!(names(&gate.shrunk)[0], ("category", "gradient", -24));
    }

    #[test]
    fn a_name_that_the_baseline_lacks_grew_from_nothing() {
        let mut run = base();
        run.timeline.scopes[3].layer = "layer2".into();
        let gate = gate(&run, &base(), &[]);
        assert_eq!(names(&gate.failures), [("layer", "layer2", 2048)]);
        assert_eq!(names(&gate.shrunk), [("layer", "layer1.0.bn1", -2048)]);
    }

    #[test]
    fn of_two_limits_the_wider_counts() {
        let limits = [Limit::Percent(1.0), Limit::Bytes(10)];
        // 10 bytes on 10,240 are below 1 %; on the layer's 13,312 and on the phase as well.
        assert_eq!(gate(&grown(Category::Activation, 102), &base(), &limits).failures, []);
        assert!(!gate(&grown(Category::Activation, 103), &base(), &limits).failures.is_empty());
    }
}
