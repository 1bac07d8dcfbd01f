//! Two runs can be compared when they did the same work.
use crate::model::Run;

/// What must be the same.
const KEYS: [&str; 4] = ["model", "mode", "batch", "image_size"];

/// A fact in which two runs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Which fact.
    pub key: &'static str,
    /// What the checked run says; nothing when it does not say.
    pub checked: Option<String>,
    /// What the baseline says.
    pub baseline: Option<String>,
}

/// In which facts the runs differ; empty when they may be compared.
pub fn comparable(checked: &Run, baseline: &Run) -> Vec<Mismatch> {
    KEYS.into_iter()
        .map(|key| Mismatch { key, checked: checked.fact(key), baseline: baseline.fact(key) })
        .filter(|mismatch| mismatch.checked != mismatch.baseline)
        .collect()
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "not given".to_owned());
        write!(
            f,
            "{} is {} in the checked run and {} in the baseline",
            self.key,
            said(&self.checked),
            said(&self.baseline)
        )
    }
}
