//! Two runs can be compared when they did the same work.
use crate::model::Run;

/// The facts that describe the work.
const WORK_FACTS: [&str; 5] = ["model", "mode", "batch", "image_size", "length"];

/// A fact in which two runs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkMismatch {
    /// The name of the fact.
    pub key: &'static str,
    /// Its value in the checked run; `None` when the run does not have it.
    pub checked: Option<String>,
    /// Its value in the baseline.
    pub baseline: Option<String>,
}

/// The facts in which the runs differ. Without any, the runs did the same work.
pub fn work_mismatches(checked: &Run, baseline: &Run) -> Vec<WorkMismatch> {
    WORK_FACTS
        .into_iter()
        .map(|key| WorkMismatch { key, checked: checked.fact(key), baseline: baseline.fact(key) })
        .filter(|mismatch| mismatch.checked != mismatch.baseline)
        .collect()
}

impl std::fmt::Display for WorkMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [checked, baseline] = [&self.checked, &self.baseline].map(|value| value.as_deref().unwrap_or("not given"));
        write!(f, "{} is {checked} in the checked run and {baseline} in the baseline", self.key)
    }
}
