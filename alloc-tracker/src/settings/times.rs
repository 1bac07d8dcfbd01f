//! `ALLOC_TRACKER_TIMES`: whether a session measures time, processor time and energy by scope; and
//! `ALLOC_TRACKER_POWER_FILE`: the text of a vendor's tool about power.
use std::path::PathBuf;

const VARIABLE: &str = "ALLOC_TRACKER_TIMES";
const FILE_VARIABLE: &str = "ALLOC_TRACKER_POWER_FILE";

/// What a session measures by scope.
///
/// ```
/// assert!(alloc_tracker::Times::ByScope < alloc_tracker::Times::WithThreadCpu, "what comes later measures more");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Times {
    /// Nothing: entering a scope costs least.
    #[default]
    Off,
    /// How long each scope is active, and its parts of the process's processor time and of the machine's energy.
    ByScope,
    /// The same, and the processor time of each thread by scope, which takes a system call for each entry and each end.
    WithThreadCpu,
}

/// What the environment asks for. For a text that it does not know, a sentence is added to `losses`.
pub fn asked(losses: &mut Vec<String>) -> Times {
    let text = std::env::var(VARIABLE).unwrap_or_default();
    match text.as_str() {
        "" | "off" => Times::Off,
        "on" => Times::ByScope,
        "cpu" => Times::WithThreadCpu,
        _ => {
            losses.push(format!("{VARIABLE}: '{text}' is none of off, on and cpu"));
            Times::Off
        }
    }
}

/// The file to which somebody writes the text of tegrastats or of `vcgencmd pmic_read_adc`.
pub fn power_file() -> Option<PathBuf> {
    std::env::var_os(FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}
