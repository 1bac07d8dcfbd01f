//! The answer in words and as JSON.
use serde::Serialize;

use super::estimate::{Estimate, Expected, Point, Verdict};
use super::trial::Trial;
use crate::figures::mib;

/// Everything that is known in the end.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Answer {
    pub(super) model: String,
    pub(super) image_size: u64,
    pub(super) momentum: f64,
    pub(super) budget_bytes: u64,
    /// The batch that was asked about.
    pub(super) batch: u64,
    pub(super) verdict: Verdict,
    pub(super) expected: Expected,
    /// 0 when not even one image fits.
    pub(super) largest_that_fits: u64,
    pub(super) smallest_that_does_not: u64,
    pub(super) estimate: Estimate,
    pub(super) shapes_bytes_an_image: u64,
    /// What measured: `cgroup-v2`, `cgroup-v1` or `address-space`, which stands for /proc.
    pub(super) measured_by: &'static str,
    pub(super) points: Vec<Point>,
    pub(super) verified: Option<Verified>,
}

/// What real runs with the budget as their limit did.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Verified {
    pub(super) trials: Vec<Trial>,
    /// Why they could not be run, or not all of them.
    pub(super) skipped: Option<String>,
    /// Whether each did what the estimate says; none when nothing ran.
    pub(super) holds: Option<bool>,
}

impl Verified {
    /// Judges `trials` by what the estimate promises of each.
    pub(super) fn new(trials: Vec<Trial>, skipped: Option<String>, estimate: &Estimate, budget: u64) -> Verified {
        let as_promised = |trial: &Trial| match estimate.verdict(trial.batch, budget) {
            Verdict::Fits => trial.passed,
            Verdict::DoesNotFit => trial.broke,
            Verdict::TooClose => true,
        };
        let holds = (!trials.is_empty()).then(|| trials.iter().all(as_promised));
        Verified { trials, skipped, holds }
    }

    /// The largest batch that passed, if a run with one image more was killed.
    pub(super) fn edge(&self) -> Option<u64> {
        let passed = self.trials.iter().filter(|trial| trial.passed).map(|trial| trial.batch).max()?;
        self.trials.iter().any(|trial| trial.broke && trial.batch == passed + 1).then_some(passed)
    }
}

impl Answer {
    /// In words.
    pub(super) fn text(&self) -> String {
        let Answer { model, batch, budget_bytes, expected, .. } = self;
        let verdict = match self.verdict {
            Verdict::Fits => "fits",
            Verdict::TooClose => "is too close to call",
            Verdict::DoesNotFit => "does not fit",
        };
        let mut text = format!(
            "{model} in training with batch {batch}, images of 3x{0}x{0}, {verdict}: it needs {1} to {2} of {3}",
            self.image_size,
            mib(expected.least_bytes),
            mib(expected.most_bytes),
            mib(*budget_bytes)
        );
        text.push_str(&match self.largest_that_fits {
            0 => format!(
                "\nno batch fits: even one image needs {} at least; give a larger --budget or a smaller --image-size",
                mib(self.estimate.at(1).least_bytes)
            ),
            largest => format!(
                "\nthe largest batch that fits is {largest}; the smallest that certainly does not is {}",
                self.smallest_that_does_not
            ),
        });
        let Estimate { fixed_bytes, bytes_an_image, base_bytes, share } = self.estimate;
        let size = |bytes: f64| mib(bytes.max(0.0) as u64);
        text.push_str(&format!(
            "\nlive whatever the batch: {} (runtime, parameters, gradients, momentum); for each image: {}; by the \
             shapes of its input and saved activations alone: {}\n\
             besides what is live: {} (tracker, libraries' written pages, stacks, kernel), and up to {:.0} % of the \
             images' part in pages that the allocator keeps",
            size(fixed_bytes),
            size(bytes_an_image),
            mib(self.shapes_bytes_an_image),
            size(base_bytes),
            share * 100.0
        ));
        if let Some(last) = self.points.last() {
            text.push_str(&format!(
                "\nbesides, {} of files were resident; the kernel drops them when memory is short, and reads them again",
                mib(last.file_bytes)
            ));
        }
        for point in &self.points {
            let by = if self.measured_by == "address-space" { "/proc" } else { self.measured_by };
            text.push_str(&format!(
                "\nmeasured by {by}: batch {:>3} needed {}, of that {} live",
                point.batch,
                mib(point.unreclaimable_bytes),
                mib(point.live_bytes)
            ));
        }
        if let Some(verified) = &self.verified {
            text.push_str(&verified.text());
        }
        text
    }
}

impl Verified {
    fn text(&self) -> String {
        let mut text = String::new();
        for trial in &self.trials {
            let ended = match (trial.passed, trial.broke) {
                (true, _) => "passed".to_owned(),
                (false, true) => "was killed for lack of memory".to_owned(),
                (false, false) => format!("ended with exit code {}", trial.exit_code),
            };
            let needed = trial.unreclaimable_bytes.map_or("unavailable".to_owned(), mib);
            text.push_str(&format!(
                "\nrun with the budget as its limit: batch {:>3} {ended}, needed {needed}",
                trial.batch
            ));
        }
        if let Some(reason) = &self.skipped {
            text.push_str(&format!("\nnot verified: {reason}"));
        }
        if let Some(edge) = self.edge() {
            text.push_str(&format!("\nthe largest batch that passed is {edge}, and one more is killed"));
        }
        match self.holds {
            Some(true) => text.push_str("\nverified: the runs at the edge did what the estimate says"),
            Some(false) => text.push_str("\nWRONG: a run at the edge did not do what the estimate says"),
            None => {}
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Needs 100 + 10 B MiB and, by the margins, 6 MiB less up to 6 MiB and 6 % of 10 B more.
    fn answer(budget: u64, trials: Vec<Trial>) -> Answer {
        let point = |batch| Point {
            batch,
            unreclaimable_bytes: (100 + 10 * batch) * MIB,
            live_bytes: (80 + 10 * batch) * MIB,
            file_bytes: 70 * MIB,
        };
        let points = vec![point(10), point(40)];
        let estimate = Estimate::through(&points, 9 * MIB).expect("two points");
        let (largest_that_fits, smallest_that_does_not) = estimate.edge(budget);
        let verified = Verified::new(trials, None, &estimate, budget);
        Answer {
            model: "resnet18".to_owned(),
            image_size: 97,
            momentum: 0.9,
            budget_bytes: budget,
            batch: 20,
            verdict: estimate.verdict(20, budget),
            expected: estimate.at(20),
            largest_that_fits,
            smallest_that_does_not,
            shapes_bytes_an_image: 9 * MIB,
            measured_by: "cgroup-v1",
            points,
            verified: Some(verified),
            estimate,
        }
    }

    fn trial(batch: u64, passed: bool) -> Trial {
        Trial { batch, passed, broke: !passed, exit_code: 0, unreclaimable_bytes: None, peak_bytes: None }
    }

    #[test]
    fn an_answer_that_holds() {
        let text = answer(318 * MIB, vec![trial(20, true), trial(23, false)]).text();
        for line in [
            "resnet18 in training with batch 20, images of 3x97x97, fits: it needs 294.0 MiB to 318.0 MiB of 318.0 MiB",
            "the largest batch that fits is 20; the smallest that certainly does not is 23",
            "measured by cgroup-v1: batch  40 needed 500.0 MiB, of that 480.0 MiB live",
            "verified: the runs at the edge did what the estimate says",
        ] {
            assert!(text.lines().any(|found| found == line), "{line:?} is missing in\n{text}");
        }
    }

    /// The batch that was said to fit was killed; one inside of the margin may do either.
    #[test]
    fn an_answer_that_does_not_hold_says_so() {
        let wrong = answer(318 * MIB, vec![trial(20, false), trial(23, false)]);
        assert!(wrong.text().ends_with("WRONG: a run at the edge did not do what the estimate says"));
        let close = answer(318 * MIB, vec![trial(21, false)]);
        assert_eq!(close.verified.and_then(|verified| verified.holds), Some(true));
    }

    /// 22 was neither certain to pass nor certain not to: the runs say that it is the last that passes.
    #[test]
    fn trials_on_both_sides_of_the_edge_name_it() {
        let found = answer(318 * MIB, vec![trial(20, true), trial(23, false), trial(22, true)]);
        assert_eq!(found.verified.as_ref().and_then(Verified::edge), Some(22));
        assert!(
            found.text().contains("the largest batch that passed is 22, and one more is killed"),
            "{}",
            found.text()
        );
        let open = answer(318 * MIB, vec![trial(20, true), trial(23, false)]);
        assert_eq!(open.verified.as_ref().and_then(Verified::edge), None, "21 and 22 are not known");
    }

    #[test]
    fn nothing_fits_into_a_small_budget() {
        let text = answer(90 * MIB, vec![]).text();
        assert!(
            text.contains("does not fit") && text.contains("no batch fits: even one image needs 104.0 MiB at least"),
            "{text}"
        );
    }
}
