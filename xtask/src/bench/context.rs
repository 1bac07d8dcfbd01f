//! What all parts of the benchmark share.

use std::time::Duration;

use crate::programs::Programs;
use crate::workspace::Workspace;

/// What all parts of the benchmark share.
pub struct Bench<'a> {
    pub workspace: &'a Workspace,
    /// The workloads of `tests/workloads`.
    pub workloads: Programs,
    /// Whether fewer rounds are asked for.
    pub quick: bool,
    /// How long rounds are added, where somebody said so.
    pub minutes: Option<u32>,
}

impl Bench<'_> {
    /// How many rounds of a measurement are run: `full`, or `quick` when fewer are asked for.
    pub fn rounds(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// How long rounds are added to a measurement that the first ones cannot judge.
    pub fn patience(&self) -> Duration {
        let usual = if self.quick { 30 } else { 300 };
        Duration::from_secs(self.minutes.map_or(usual, |minutes| 60 * u64::from(minutes)))
    }
}
