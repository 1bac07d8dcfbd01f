//! The machine and the program of a sweep, as far as they can be told.
use std::path::Path;
use std::process::Command;

use procfs::{CpuInfo, Current, Meminfo};

use super::folder::Settings;
use super::planned::Planned;
use super::record::Conditions;

/// The conditions of runs that begin now, but for those that each model has of its own. `programs` is the folder that the program lies in.
pub(super) fn conditions(settings: &Settings, programs: &Path) -> Conditions {
    let cpu = CpuInfo::current().ok();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    Conditions {
        steps: settings.steps,
        seed: settings.seed,
        commit: commit(programs),
        cpu: cpu.and_then(|cpu| Some(cpu.model_name(0)?.to_owned())),
        cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
        memory_bytes: Meminfo::current().ok().map(|memory| memory.mem_total),
        kernel: kernel.map(|release| release.trim().to_owned()),
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
