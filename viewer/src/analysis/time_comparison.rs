//! Self times of several runs side by side, a step.
use std::collections::BTreeMap;

use alloc_timeline::Dimension;

use crate::analysis::comparison::{Absent, ComparisonRow};
use crate::analysis::self_time::{NameTime, SelfTimes, TimeBasis, self_times};
use crate::model::Run;

/// Self times of several runs, in nanoseconds a step. A run without times has no figures.
#[derive(Clone, Debug)]
pub struct TimeComparison {
    /// What the times of each run are of.
    pub basis: Vec<Option<TimeBasis>>,
    /// All self time.
    pub totals: ComparisonRow,
    /// The rows by phase, layer, operator and operation, with the word for it: a name comes the earlier, the longer any of the
    /// runs was in it.
    pub groups: Vec<(&'static str, Vec<ComparisonRow>)>,
}

/// The times of `runs`; `None` where no run has any.
pub fn compare_times(runs: &[Run]) -> Option<TimeComparison> {
    let times: Vec<Option<SelfTimes>> = runs.iter().map(|run| self_times(&run.timeline, None).ok()).collect();
    if times.iter().all(Option::is_none) {
        return None;
    }
    let a_step = |times: &SelfTimes, ns: u64| times.basis.a_step(ns).round() as u64;
    // A name that a run does not have took no time, if the run has times.
    let nothing: Vec<Option<u64>> = times.iter().map(|times| times.as_ref().map(|_| 0)).collect();
    let all_have_times = times.iter().all(Option::is_some);
    let (none, absent) =
        if all_have_times { (vec![None; runs.len()], Absent::Nothing) } else { (nothing, Absent::NotKnown) };
    let rows = |by: &dyn Fn(&SelfTimes) -> Vec<NameTime>| {
        let mut table: BTreeMap<String, Vec<Option<u64>>> = BTreeMap::new();
        for (index, times) in times.iter().enumerate() {
            for row in times.iter().flat_map(by) {
                let ns = times.as_ref().map(|times| a_step(times, row.self_ns));
                table.entry(row.name).or_insert_with(|| none.clone())[index] = ns;
            }
        }
        let mut rows: Vec<_> =
            table.into_iter().map(|(name, figures)| ComparisonRow { name, figures, absent }).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.figures.iter().copied().max()));
        rows
    };
    let dimensions = [Dimension::Phase, Dimension::Layer, Dimension::Op];
    let mut groups: Vec<_> = dimensions.map(|by| (by.name(), rows(&|times| times.by(by)))).into();
    groups.push(("operation", rows(&SelfTimes::by_operation)));
    let total = |times: &Option<SelfTimes>| times.as_ref().map(|times| a_step(times, times.whole_ns()));
    Some(TimeComparison {
        basis: times.iter().map(|times| times.as_ref().map(|times| times.basis)).collect(),
        totals: ComparisonRow {
            name: "self time".to_owned(),
            figures: times.iter().map(total).collect(),
            absent: Absent::NotKnown,
        },
        groups,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::{tiny, with_step_times};

    /// The second run has no times; of the third, the first three of four steps are left out.
    #[test]
    fn each_run_has_its_own_steps() {
        let runs = [with_step_times(tiny(), 2), tiny(), with_step_times(tiny(), 4)];
        let runs: Vec<Run> = runs.into_iter().map(|timeline| Run::new("x", timeline)).collect();
        let times = compare_times(&runs).expect("times");
        assert_eq!(times.totals.figures, [Some(1_101_500), None, Some(1_104_000)]);
        let (name, operations) = &times.groups[3];
        assert_eq!((*name, operations[0].name.as_str()), ("operation", "convolution"));
        assert_eq!(operations[0].figures, [Some(900_000), None, Some(900_000)]);
        assert!(compare_times(&runs[1..2]).is_none());
    }
}
