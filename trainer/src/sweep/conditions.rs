//! The machine and the program of a sweep, as far as they can be told.
use std::path::Path;
use std::process::Command;

use super::folder::Settings;
use super::planned::Planned;
use super::record::Conditions;
use crate::machine::Machine;

/// The conditions of runs that begin now, but for those that each model has of its own. `programs` is the folder that the program lies in.
pub(super) fn conditions(settings: &Settings, programs: &Path) -> Conditions {
    let Machine { cpu, cpus, memory_bytes, kernel } = Machine::of_this();
    Conditions {
        steps: settings.steps,
        seed: settings.seed,
        commit: commit(programs),
        cpu,
        cpus,
        memory_bytes,
        kernel,
        ..Conditions::default()
    }
}

/// The same of a run of `planned`.
pub(super) fn of(planned: &Planned, conditions: &Conditions) -> Conditions {
    let (classes, data) = (planned.classes, planned.data.display().to_string());
    Conditions { classes, data, ..conditions.clone() }
}

/// The commit of the checkout that `folder` lies in, with `-dirty` behind it when files have changed since.
fn commit(folder: &Path) -> Option<String> {
    let output = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
        .current_dir(folder)
        .output()
        .ok()?;
    let name = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !name.is_empty()).then_some(name)
}
