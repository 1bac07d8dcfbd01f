//! What real runs with the budget as their limit did, and whether that is what the estimate says.
use anyhow::Result;
use serde::Serialize;

use super::estimate::{Estimate, Verdict};
use super::trial::{Pages, Trial};
use crate::figures::mib;

/// The runs, in the order in which they were made.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Verified {
    pub(super) trials: Vec<Trial>,
    /// Why they could not be run, or not all of them.
    pub(super) skipped: Option<String>,
    /// Whether each did what the estimate says; none when nothing ran.
    pub(super) holds: Option<bool>,
    /// The smallest batch that was killed.
    pub(super) smallest_killed: Option<u64>,
    /// The largest batch that passed and lies below each that was killed: what the runs found, whatever was estimated.
    pub(super) largest_passed: Option<u64>,
}

impl Verified {
    /// Judges `trials` by what the estimate promises of each.
    pub(super) fn new(
        trials: Vec<Trial>,
        skipped: Option<String>,
        estimate: &Estimate,
        budget: u64,
    ) -> Result<Verified> {
        let as_promised = |trial: &Trial| -> Result<bool> {
            Ok(match estimate.verdict(trial.batch, budget)? {
                Verdict::Fits => trial.passed,
                Verdict::DoesNotFit => trial.broke,
                Verdict::TooClose => true,
            })
        };
        let promised = trials.iter().map(as_promised).collect::<Result<Vec<bool>>>()?;
        let holds = (!trials.is_empty()).then(|| promised.into_iter().all(|kept| kept));
        let smallest_killed = trials.iter().filter(|trial| trial.broke).map(|trial| trial.batch).min();
        let passed = trials.iter().filter(|trial| trial.passed).map(|trial| trial.batch);
        let largest_passed = passed.filter(|&batch| smallest_killed.is_none_or(|killed| batch < killed)).max();
        Ok(Verified { trials, skipped, holds, smallest_killed, largest_passed })
    }

    /// In words, a line each.
    pub(super) fn text(&self, pages: Pages) -> String {
        let mut text = String::new();
        let pages = pages.text();
        for trial in &self.trials {
            let ended = match (trial.passed, trial.broke) {
                (true, _) => "passed".to_owned(),
                (false, true) => "was killed for lack of memory".to_owned(),
                (false, false) => format!("ended with exit code {}", trial.exit_code),
            };
            let needed = trial.unreclaimable_bytes.map_or("unavailable".to_owned(), mib);
            text.push_str(&format!(
                "\nrun with the budget as its limit: batch {:>3}{pages} {ended}, needed {needed}",
                trial.batch
            ));
        }
        if let Some(reason) = &self.skipped {
            text.push_str(&format!("\nnot verified{pages}: {reason}"));
        }
        match (self.largest_passed, self.smallest_killed) {
            (Some(passed), Some(killed)) if killed == passed + 1 => {
                text.push_str(&format!("\nthe largest batch that passed{pages} is {passed}, and one more is killed"));
            }
            (Some(passed), Some(killed)) => {
                text.push_str(&format!("\nthe runs found{pages}: {passed} passes, {killed} is killed"));
            }
            _ => {}
        }
        match self.holds {
            Some(true) => {
                text.push_str(&format!("\nverified{pages}: the runs at the edge did what the estimate says"));
            }
            Some(false) => {
                text.push_str(&format!("\nWRONG{pages}: a run at the edge did not do what the estimate says"));
            }
            None => {}
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::estimate::Point;
    use crate::fit::estimate::tests::live;

    const MIB: u64 = 1 << 20;

    /// Of a budget of 327 MiB: live 80 + 10 B and 20 besides, so 22 images need 317 to 326 and fit, 24 need 337 at least.
    fn verified(trials: &[(u64, bool)]) -> Verified {
        let point = |batch| Point {
            batch,
            unreclaimable_bytes: (100 + 10 * batch) * MIB,
            live_bytes: (80 + 10 * batch) * MIB,
            file_bytes: 0,
            step_ns: 0,
        };
        let estimate =
            Estimate::given_back(&[point(2), point(24)], &live(80, 10, 24)).expect("planned").expect("points");
        assert_eq!(estimate.edge(327 * MIB).expect("can be planned"), (22, 24));
        let trials = trials.iter().map(|&(batch, passed)| Trial::ended(batch, passed));
        Verified::new(trials.collect(), None, &estimate, 327 * MIB).expect("can be planned")
    }

    #[test]
    fn runs_that_do_as_estimated() {
        let good = verified(&[(22, true), (24, false)]);
        assert_eq!((good.holds, good.largest_passed, good.smallest_killed), (Some(true), Some(22), Some(24)));
        let text = good.text(Pages::AsSet);
        assert!(text.contains("\nthe runs found: 22 passes, 24 is killed\nverified: the runs at the edge"), "{text}");
        let close = verified(&[(23, false)]);
        assert_eq!(close.holds, Some(true), "23 is too close to call: it may do either");
    }

    /// The batch that was said to fit was killed. Smaller ones were tried, and what passed is the answer of the runs.
    #[test]
    fn runs_that_do_otherwise_are_believed() {
        let wrong = verified(&[(22, false), (21, false), (20, true), (24, false)]);
        assert_eq!((wrong.holds, wrong.largest_passed, wrong.smallest_killed), (Some(false), Some(20), Some(21)));
        let text = wrong.text(Pages::GivenBack);
        assert!(
            text.contains("the largest batch that passed, pages given back is 20, and one more is killed"),
            "{text}"
        );
        assert!(
            text.ends_with("WRONG, pages given back: a run at the edge did not do what the estimate says"),
            "{text}"
        );
        let too_much_passed = verified(&[(22, true), (24, true)]);
        assert_eq!((too_much_passed.holds, too_much_passed.largest_passed), (Some(false), Some(24)));
    }

    #[test]
    fn nothing_that_ran_is_nothing_known() {
        let nothing = verified(&[]);
        assert_eq!((nothing.holds, nothing.largest_passed, nothing.smallest_killed), (None, None, None));
    }
}
