//! The largest batch of a network in a budget: as forecast, and as runs with the budget as their limit found it.
use anyhow::Result;
use serde::Serialize;

use super::case::Case;
use super::forecast::{Forecast, Needed};
use super::reason::Reason;
use super::trial::Trial;

/// How closely runs look for the edge: to so many hundredths of the forecast batch, or to one input if that is more.
const PERCENT: u64 = 2;
/// No more runs than these.
const TRIES: usize = 6;

/// The edge under one budget.
#[derive(Debug, Serialize)]
pub(super) struct Edge {
    pub(super) budget_bytes: u64,
    /// The largest batch that fits by the forecast; 0 when none does.
    pub(super) largest: u64,
    /// What that batch needs; of 0, what the smallest batch needs.
    pub(super) needed: Needed,
    /// Why not even the smallest batch fits.
    pub(super) reason: Option<Reason>,
    /// Runs under the budget, in the order in which they were made.
    pub(super) trials: Vec<Trial>,
    /// Why there are none, or not all.
    pub(super) skipped: Option<String>,
    /// What the runs found.
    pub(super) largest_passed: Option<u64>,
    pub(super) smallest_killed: Option<u64>,
    /// By how much the forecast may at most be above (or below) the edge, by what the runs found, in per cent.
    pub(super) off_percent: Option<f64>,
}

impl Edge {
    /// What `forecast` says of `case` in `budget`.
    pub(super) fn of(case: &Case, budget: u64, forecast: &Forecast) -> Result<Edge> {
        let largest = case.largest(budget, forecast)?;
        let smallest = case.smallest();
        let reason = if largest == 0 { Reason::of(case, smallest, budget, forecast)? } else { None };
        Ok(Edge {
            budget_bytes: budget,
            largest,
            needed: case.needed(largest.max(smallest), forecast)?,
            reason,
            trials: Vec::new(),
            skipped: None,
            largest_passed: None,
            smallest_killed: None,
            off_percent: None,
        })
    }

    /// Runs batches with `run` until one passes, another is killed, and few lie between the two.
    pub(super) fn look_for_it(&mut self, smallest: u64, mut run: impl FnMut(u64) -> Result<Trial>) {
        while let Some(batch) = self.next(smallest) {
            match run(batch) {
                Ok(trial) if trial.passed || trial.broke => self.add(trial),
                Ok(trial) => {
                    self.skipped = Some(format!("batch {batch} ended with exit code {}", trial.exit_code));
                    self.trials.push(trial);
                    return;
                }
                Err(reason) => {
                    self.skipped = Some(format!("{reason:#}"));
                    return;
                }
            }
        }
    }

    /// The batch to run next; `None` when the edge is known closely enough, or after too many runs. Runs that all end in the same way go
    /// twice as far each time.
    fn next(&self, smallest: u64) -> Option<u64> {
        let step = (self.largest * PERCENT / 100).max(1);
        let farther = step << self.trials.len().saturating_sub(1);
        let next = match (self.largest_passed, self.smallest_killed) {
            (None, None) => Some(self.largest.max(smallest)),
            (Some(passed), None) => Some(passed + farther),
            (None, Some(killed)) => (killed > smallest).then(|| killed.saturating_sub(farther).max(smallest)),
            (Some(passed), Some(killed)) => (killed > passed + step).then(|| passed + (killed - passed) / 2),
        };
        next.filter(|_| self.trials.len() < TRIES)
    }

    fn add(&mut self, trial: Trial) {
        self.trials.push(trial);
        let batches = |ended: fn(&Trial) -> bool| self.trials.iter().filter(move |trial| ended(trial));
        let killed = batches(|trial| trial.broke).map(|trial| trial.batch).min();
        let passed = batches(|trial| trial.passed).map(|trial| trial.batch);
        self.largest_passed = passed.filter(|&batch| killed.is_none_or(|killed| batch < killed)).max();
        self.smallest_killed = killed;
        self.off_percent = match (self.largest_passed, killed) {
            (Some(passed), Some(killed)) => {
                // Batches between the two did not run, and the edge may be any of them: the farthest counts.
                let edge =
                    if self.largest.abs_diff(passed) > self.largest.abs_diff(killed - 1) { passed } else { killed - 1 };
                Some((self.largest as f64 / edge as f64 - 1.0) * 100.0)
            }
            _ => None,
        };
    }

    /// `56`, `56: 56 ran, 57 killed`, `0`.
    pub(super) fn text(&self) -> String {
        let found = match (self.largest_passed, self.smallest_killed) {
            (Some(passed), Some(killed)) => format!(": {passed} ran, {killed} killed"),
            (Some(passed), None) => format!(": {passed} ran"),
            (None, Some(killed)) => format!(": {killed} killed"),
            (None, None) => String::new(),
        };
        format!("{}{found}", self.largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelName;
    use crate::optimizer::Optimizer;

    /// An edge that is forecast at `largest`, put to runs of which those up to `real` pass. Returns it and the batches that ran.
    fn looked_for(largest: u64, real: u64) -> (Edge, Vec<u64>) {
        let case = Case::reference(ModelName::LeNet5, Optimizer::default());
        let mut edge = Edge { largest, ..Edge::of(&case, 1 << 30, &Forecast::default()).expect("fits") };
        edge.look_for_it(1, |batch| Ok(Trial::ended(batch, batch <= real)));
        let ran = edge.trials.iter().map(|trial| trial.batch).collect();
        (edge, ran)
    }

    /// Two hundredths of 56 are 1, of 500 they are 10.
    #[test]
    fn a_right_forecast_takes_two_runs() {
        let (edge, ran) = looked_for(56, 56);
        assert_eq!((ran, edge.off_percent), (vec![56, 57], Some(0.0)));
        assert_eq!(edge.text(), "56: 56 ran, 57 killed");
        assert_eq!(looked_for(500, 503).1, [500, 510]);
    }

    #[test]
    fn a_wrong_one_takes_more_and_says_how_wrong() {
        let (edge, ran) = looked_for(500, 480);
        assert_eq!((ran, edge.largest_passed), (vec![500, 490, 470, 480], Some(480)));
        assert!((edge.off_percent.expect("both ran") - 100.0 * 20.0 / 480.0).abs() < 1e-9, "480 may be the edge");
        let (edge, ran) = looked_for(20, 22);
        assert_eq!((ran, edge.smallest_killed), (vec![20, 21, 23, 22], Some(23)));
        assert!(edge.off_percent.is_some_and(|off| (-9.2..-9.0).contains(&off)), "{edge:?}");
    }

    /// Nobody waits for an edge that is far away: six runs, and what they said.
    #[test]
    fn an_edge_that_is_not_found() {
        let (edge, ran) = looked_for(500, 100);
        assert_eq!((ran.len(), edge.off_percent, edge.text().as_str()), (6, None, "500: 190 killed"));
    }

    /// The smallest batch is run where none is forecast to fit, and must be killed.
    #[test]
    fn no_batch_at_all() {
        let (edge, ran) = looked_for(0, 0);
        assert_eq!((ran, edge.text().as_str()), (vec![1], "0: 1 killed"));
        assert_eq!(looked_for(0, 1).1, [1, 2], "it was too careful");
    }

    /// A run that ends for another reason says nothing about memory.
    #[test]
    fn a_run_that_fails_otherwise() {
        let (mut edge, _) = looked_for(0, 0);
        (edge.trials, edge.smallest_killed) = (Vec::new(), None);
        edge.look_for_it(1, |batch| {
            Ok(Trial { passed: false, broke: false, exit_code: 2, ..Trial::ended(batch, true) })
        });
        assert_eq!(edge.skipped.as_deref(), Some("batch 1 ended with exit code 2"));
        assert_eq!(edge.text(), "0");
    }
}
