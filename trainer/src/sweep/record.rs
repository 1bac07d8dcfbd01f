//! What one run left, as a file of JSON: written when the run ends, and never changed.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::point::Point;

/// The steps that warm up and are told apart, where a run has more than them (seed 001 skips three).
const WARM_UP: usize = 3;

/// One run of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) point: Point,
    /// Which of the runs of this point, counted from 1.
    pub(super) repeat: u64,
    pub(super) outcome: Outcome,
    /// Why there are no numbers.
    pub(super) reason: Option<String>,
    pub(super) measured: Option<Measured>,
    /// Start of the process, in seconds since 1970.
    pub(super) started_unix_s: u64,
    /// From the start of the process to its end, libtorch's start and the reading of the data included.
    pub(super) wall_ns: u64,
    pub(super) conditions: Conditions,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// With numbers.
    Done,
    /// It ended with an error.
    Failed,
    /// A signal that nobody here sent ended it, most likely for lack of memory.
    Killed,
    /// It was not started: the network cannot take such a batch of such images.
    Misfit,
    /// It was not started: the memory that is free is less than what it certainly needs.
    TooLarge,
}

impl Outcome {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed => "failed",
            Outcome::Killed => "killed",
            Outcome::Misfit => "misfit",
            Outcome::TooLarge => "too_large",
        }
    }
}

/// The numbers of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Every step in its order, the first ones included.
    pub(super) step_ns: Vec<u64>,
    /// Most bytes resident, by the kernel's account.
    pub(super) peak_rss_bytes: Option<u64>,
    /// Most live bytes, exact; unknown where the tracker cannot serve the allocator.
    pub(super) peak_live_bytes: Option<u64>,
    /// The same by category; the values sum to it.
    pub(super) peak_by_category: BTreeMap<String, u64>,
}

impl Measured {
    /// How many of the first steps warm up: three, or all but one where there are no more.
    pub(super) fn warm_up(&self) -> usize {
        WARM_UP.min(self.step_ns.len().saturating_sub(1))
    }

    /// The steps after those, in nanoseconds.
    pub(super) fn steady_ns(&self) -> Vec<f64> {
        self.step_ns[self.warm_up()..].iter().map(|&ns| ns as f64).collect()
    }
}

/// What a run's numbers depend on besides its point. Classes and data are those of its model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Conditions {
    pub(super) steps: u64,
    pub(super) seed: u64,
    pub(super) classes: u64,
    /// Folder of the data set.
    pub(super) data: String,
    /// Of the checkout that the program lies in.
    pub(super) commit: Option<String>,
    /// The processor's name.
    pub(super) cpu: Option<String>,
    pub(super) cpus: u64,
    /// Physical memory of the machine.
    pub(super) memory_bytes: Option<u64>,
    pub(super) kernel: Option<String>,
}

impl Conditions {
    /// The program and the machine, in words.
    fn origin(&self) -> String {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let [commit, cpu, kernel] = [&self.commit, &self.cpu, &self.kernel].map(known);
        format!("commit {commit} on {} processor(s), {cpu}, Linux {kernel}", self.cpus)
    }
}

/// The programs and machines of `records` that are others than those of now, in words.
pub(super) fn others(records: &[Record], now: &Conditions) -> BTreeSet<String> {
    let all = records.iter().map(|record| record.conditions.origin());
    all.filter(|origin| *origin != now.origin()).collect()
}

#[cfg(test)]
pub(super) fn example(point: Point, repeat: u64, step_ns: &[u64]) -> Record {
    let measured = Measured {
        step_ns: step_ns.to_vec(),
        peak_rss_bytes: Some(300 << 20),
        peak_live_bytes: Some(3 << 20),
        peak_by_category: [("activation".to_owned(), 2 << 20), ("parameter".to_owned(), 1 << 20)].into(),
    };
    Record {
        point,
        repeat,
        outcome: Outcome::Done,
        reason: None,
        measured: Some(measured),
        started_unix_s: 1_700_000_000,
        wall_ns: 2_000_000_000,
        conditions: Conditions {
            steps: 5,
            seed: 1,
            classes: 10,
            data: "some/where".to_owned(),
            ..Conditions::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_steps_are_told_apart() {
        let steady = |steps: &[u64]| Measured { step_ns: steps.to_vec(), ..Measured::default() }.steady_ns();
        assert_eq!(steady(&[9, 8, 7, 6, 5]), [6.0, 5.0]);
        assert_eq!(steady(&[9, 8]), [8.0]);
        assert_eq!(steady(&[9]), [9.0]);
        assert_eq!(steady(&[]), [0.0; 0]);
    }
}
