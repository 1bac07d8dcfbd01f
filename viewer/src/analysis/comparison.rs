//! Several runs side by side: one row for each name, with the differences to the first run.
use std::collections::BTreeMap;

use alloc_timeline::Dimension;

use crate::model::Run;

/// What it means that a run has no figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// It has nothing under that name, which counts as 0.
    Nothing,
    /// It is not known.
    NotKnown,
}

/// One name with one figure of each run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparisonRow {
    /// The name of a phase, a layer, an operator or a category.
    pub name: String,
    /// Bytes at the peak of each run, or its self time in nanoseconds a step; `None` as `absent` says.
    pub figures: Vec<Option<u64>>,
    /// What `None` means.
    pub absent: Absent,
}

impl ComparisonRow {
    /// By how much run `index` has more than the first run. A missing name counts as 0.
    pub fn difference(&self, index: usize) -> i128 {
        i128::from(self.figures[index].unwrap_or(0)) - i128::from(self.figures[0].unwrap_or(0))
    }

    /// The same where there is anything to compare.
    pub fn known_difference(&self, index: usize) -> Option<i128> {
        let (own, first) = (self.figures[index].is_some(), self.figures[0].is_some());
        let known = match self.absent {
            Absent::Nothing => own || first,
            Absent::NotKnown => own && first,
        };
        known.then(|| self.difference(index))
    }

    /// Whether all runs have the same.
    pub fn is_unchanged(&self) -> bool {
        (1..self.figures.len()).all(|index| self.difference(index) == 0)
    }
}

/// Several runs side by side at their peaks.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The runs. The others are compared with the first one.
    pub runs: &'a [Run],
    /// All live bytes at the peak.
    pub totals: ComparisonRow,
    /// The rows of each dimension: a name comes the earlier, the more bytes any of the runs has under it.
    rows: Vec<(Dimension, Vec<ComparisonRow>)>,
}

/// Compares the peaks of `runs`.
pub fn compare(runs: &[Run]) -> Comparison<'_> {
    let total = |run: &Run| Some(run.timeline.peak.live_bytes);
    Comparison {
        runs,
        totals: ComparisonRow {
            name: "peak".to_owned(),
            figures: runs.iter().map(total).collect(),
            absent: Absent::NotKnown,
        },
        rows: Dimension::ALL.map(|dimension| (dimension, rows(runs, dimension))).into(),
    }
}

/// The rows of one dimension.
fn rows(runs: &[Run], dimension: Dimension) -> Vec<ComparisonRow> {
    let mut table: BTreeMap<String, Vec<Option<u64>>> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        for (name, bytes) in run.timeline.peak.by(run.scopes(), dimension) {
            table.entry(name).or_insert_with(|| vec![None; runs.len()])[index] = Some(bytes);
        }
    }
    let row = |(name, figures)| ComparisonRow { name, figures, absent: Absent::Nothing };
    let mut rows: Vec<_> = table.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.figures.iter().copied().max()));
    rows
}

impl Comparison<'_> {
    /// A row with one figure of each run.
    pub fn figure(&self, of_run: fn(&Run) -> Option<u64>) -> ComparisonRow {
        let figures = self.runs.iter().map(of_run).collect();
        ComparisonRow { name: String::new(), figures, absent: Absent::NotKnown }
    }

    /// The rows of one dimension.
    pub fn rows_by(&self, dimension: Dimension) -> &[ComparisonRow] {
        self.rows.iter().find(|(d, _)| *d == dimension).map(|(_, rows)| rows.as_slice()).unwrap_or_default()
    }

    /// The category that explains the largest part of the difference between the first run and run `index`: the one whose
    /// bytes changed the most in the direction in which the total changed. With it comes its difference.
    pub fn main_cause(&self, index: usize) -> Option<(&str, i128)> {
        self.largest_change(index, self.totals.difference(index).signum())
    }

    /// The category whose bytes changed the most against the direction of the total, and its difference.
    pub fn main_counterweight(&self, index: usize) -> Option<(&str, i128)> {
        self.largest_change(index, -self.totals.difference(index).signum())
    }

    /// The category with the largest difference in `direction`: 1 is up, -1 is down.
    fn largest_change(&self, index: usize, direction: i128) -> Option<(&str, i128)> {
        self.rows_by(Dimension::Category)
            .iter()
            .map(|row| (row.name.as_str(), row.difference(index)))
            .max_by_key(|(_, difference)| difference * direction)
            .filter(|(_, difference)| difference * direction > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;
    use alloc_timeline::Category;

    fn pair() -> Vec<Run> {
        let (before, mut after) = (tiny(), tiny());
        after.scopes[3].layer = "layer2.0.bn1".into();
        for row in &mut after.peak.rows {
            if row.category == Category::Gradient {
                row.usable_bytes += 1000;
            }
        }
        after.peak.live_bytes += 1000;
        vec![Run::new("a", before), Run::new("b", after)]
    }

    #[test]
    fn names_that_only_one_run_has_are_blank_in_the_other() {
        let runs = pair();
        let comparison = compare(&runs);
        let row = |name: &str| comparison.rows_by(Dimension::Layer).iter().find(|row| row.name == name).cloned();
        assert_eq!(row("layer1.0.bn1").unwrap().figures, [Some(2048), None]);
        assert_eq!(row("layer2.0.bn1").unwrap().figures, [None, Some(2048)]);
        assert_eq!(row("layer1.0.bn1").unwrap().difference(1), -2048);
    }

    /// A name that a run lacks is 0 bytes; a figure that it lacks is compared with nothing.
    #[test]
    fn what_is_not_known_has_no_difference() {
        let mut runs = pair();
        runs[1].timeline.at_exit = None;
        let comparison = compare(&runs);
        let at_exit = comparison.figure(|run| Some(run.timeline.at_exit.as_ref()?.snapshot.live_bytes));
        assert_eq!((at_exit.figures.as_slice(), at_exit.known_difference(1)), (&[Some(4608), None][..], None));
        let layer = comparison.rows_by(Dimension::Layer).iter().find(|row| row.name == "layer1.0.bn1");
        assert_eq!(layer.and_then(|row| row.known_difference(1)), Some(-2048));
        assert_eq!(comparison.totals.known_difference(1), Some(1000));
    }

    #[test]
    fn the_cause_is_the_category_that_moved_with_the_total() {
        let runs = pair();
        let comparison = compare(&runs);
        assert_eq!(comparison.totals.difference(1), 1000);
        assert_eq!(comparison.main_cause(1), Some(("gradient", 1000)));
        assert!(comparison.rows_by(Dimension::Category).iter().filter(|row| !row.is_unchanged()).count() == 1);
    }

    #[test]
    fn equal_runs_have_no_cause() {
        let runs = vec![Run::new("a", tiny()), Run::new("b", tiny())];
        assert_eq!(compare(&runs).main_cause(1), None);
    }
}
