//! `ALLOC_TRACKER_DUMP_AT`: live bytes at which a session writes a copy of its timeline.
use alloc_timeline::size;

const VARIABLE: &str = "ALLOC_TRACKER_DUMP_AT";

/// The thresholds that the environment sets, in bytes. For each text that is not a size a sentence is added to
/// `losses`.
pub fn dump_thresholds(losses: &mut Vec<String>) -> Vec<u64> {
    let asked = std::env::var(VARIABLE).unwrap_or_default();
    let mut thresholds = Vec::new();
    for text in asked.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        match size::parse(text) {
            Ok(bytes) => thresholds.push(bytes),
            Err(problem) => losses.push(format!("{VARIABLE}: '{text}' is no size: {problem}")),
        }
    }
    thresholds
}
