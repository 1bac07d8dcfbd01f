//! Several runs side by side: the same names in one line, differences to the first run.
use std::collections::BTreeMap;

use alloc_timeline::Dimension;

use crate::model::Run;

/// One name and what each run held under it at its peak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Phase, layer, operator or category.
    pub name: String,
    /// Bytes by run; nothing where the run has no such name.
    pub bytes: Vec<Option<u64>>,
}

impl Line {
    /// What run `index` holds more than the first one; a name that is missing counts as 0.
    pub fn difference(&self, index: usize) -> i128 {
        i128::from(self.bytes[index].unwrap_or(0)) - i128::from(self.bytes[0].unwrap_or(0))
    }

    /// Whether all runs hold the same.
    pub fn is_even(&self) -> bool {
        (1..self.bytes.len()).all(|index| self.difference(index) == 0)
    }
}

/// Several runs side by side at their peaks.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The runs; the first is what the others are compared with.
    pub runs: &'a [Run],
    /// The live bytes at the peak.
    pub totals: Line,
    /// The lines of each dimension, biggest in any run first.
    pub lines: Vec<(Dimension, Vec<Line>)>,
}

/// Compares the peaks of `runs`.
pub fn compare(runs: &[Run]) -> Comparison<'_> {
    let total = |run: &Run| Some(run.timeline.peak.live_bytes);
    Comparison {
        runs,
        totals: Line { name: "peak".to_owned(), bytes: runs.iter().map(total).collect() },
        lines: Dimension::ALL.map(|dimension| (dimension, lines(runs, dimension))).into(),
    }
}

/// The lines of one dimension.
fn lines(runs: &[Run], dimension: Dimension) -> Vec<Line> {
    let mut table: BTreeMap<String, Vec<Option<u64>>> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        for (name, bytes) in run.timeline.peak.by(run.scopes(), dimension) {
            table.entry(name).or_insert_with(|| vec![None; runs.len()])[index] = Some(bytes);
        }
    }
    let mut lines: Vec<Line> = table.into_iter().map(|(name, bytes)| Line { name, bytes }).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.bytes.iter().copied().max()));
    lines
}

impl Comparison<'_> {
    /// The lines of one dimension.
    pub fn by(&self, dimension: Dimension) -> &[Line] {
        self.lines.iter().find(|(d, _)| *d == dimension).map(|(_, lines)| lines.as_slice()).unwrap_or_default()
    }

    /// The category that explains most of the difference between the first run and run `index`: the one that moved
    /// the farthest in the direction in which the total moved.
    pub fn main_cause(&self, index: usize) -> Option<(&str, i128)> {
        self.farthest(index, self.totals.difference(index).signum())
    }

    /// The category that moved the farthest against the total.
    pub fn main_counterweight(&self, index: usize) -> Option<(&str, i128)> {
        self.farthest(index, -self.totals.difference(index).signum())
    }

    fn farthest(&self, index: usize, direction: i128) -> Option<(&str, i128)> {
        self.by(Dimension::Category)
            .iter()
            .map(|line| (line.name.as_str(), line.difference(index)))
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
        vec![Run::new("a".into(), before), Run::new("b".into(), after)]
    }

    #[test]
    fn names_that_only_one_run_has_are_blank_in_the_other() {
        let runs = pair();
        let comparison = compare(&runs);
        let line = |name: &str| comparison.by(Dimension::Layer).iter().find(|line| line.name == name).cloned();
        assert_eq!(line("layer1.0.bn1").unwrap().bytes, [Some(2048), None]);
        assert_eq!(line("layer2.0.bn1").unwrap().bytes, [None, Some(2048)]);
        assert_eq!(line("layer1.0.bn1").unwrap().difference(1), -2048);
    }

    #[test]
    fn the_cause_is_the_category_that_moved_with_the_total() {
        let runs = pair();
        let comparison = compare(&runs);
        assert_eq!(comparison.totals.difference(1), 1000);
        assert_eq!(comparison.main_cause(1), Some(("gradient", 1000)));
        assert!(comparison.by(Dimension::Category).iter().filter(|line| !line.is_even()).count() == 1);
    }

    #[test]
    fn equal_runs_have_no_cause() {
        let runs = vec![Run::new("a".into(), tiny()), Run::new("b".into(), tiny())];
        assert_eq!(compare(&runs).main_cause(1), None);
    }
}
