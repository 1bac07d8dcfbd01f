//! All power sensors of a machine.
use std::path::Path;

use super::source::Source;
use super::{battery, ina3221, logged, rapl};

/// The sensors that a machine has, and why it has no others.
#[derive(Debug, Default)]
pub struct Found {
    /// What can be read.
    pub sources: Vec<Source>,
    /// A sentence for each instrument that is not there or cannot be read.
    pub unavailable: Vec<String>,
}

/// Looks for sensors in the file system under `root`, which is `/` but in tests. `logged` is a file to which somebody
/// writes the text of tegrastats or of `vcgencmd pmic_read_adc`.
pub fn find(root: &Path, logged: Option<&Path>) -> Found {
    let mut found = Found::default();
    for (name, sensors) in
        [("rapl", rapl::find(root)), ("battery", battery::find(root)), ("ina3221", ina3221::find(root))]
    {
        match sensors {
            Ok((sources, problems)) => {
                found.sources.extend(sources);
                found.unavailable.extend(problems.iter().map(|problem| format!("{name}: unavailable: {problem}")));
            }
            Err(reason) => found.unavailable.push(format!("{name}: unavailable: {reason}")),
        }
    }
    match logged.map(logged::find) {
        Some(Ok(source)) => found.sources.push(source),
        Some(Err(reason)) => found.unavailable.push(format!("power file: unavailable: {reason}")),
        None => {}
    }
    found
}
