//! Instructions that tracking adds to a malloc+free pair, counted by callgrind: the same number to a few hundredths on
//! every run of the same build, however busy the machine, so a gate can compare it.

use std::process::Command;

use anyhow::{Context, Result};

use crate::child;
use crate::prerequisite::succeeds;
use crate::programs::{Programs, without_allocator_settings};
use crate::progress::Progress;
use crate::workspace::Workspace;

/// Pairs of malloc and free in the shorter and in the longer run. Their difference leaves out the start of the process
/// and the first blocks of every slot.
const PAIRS: [u64; 2] = [50_000, 250_000];

/// By default jemalloc reads the clock to decide how much of a thread's cache it gives back, and the result differs by
/// an instruction from run to run. With this setting it differs by a few hundredths.
const NO_CLOCK: (&str, &str) = ("_RJEM_MALLOC_CONF", "experimental_tcache_gc:false");

/// The programs that are counted: tracked, and plain jemalloc in the same configuration.
pub const PROGRAMS: [&str; 2] = ["churn-tracked", "churn-jemalloc"];

/// The functions by which a program asks for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Rust's `#[global_allocator]`.
    Rust,
    /// `malloc` and `free`.
    C,
}

impl Door {
    /// Both of them.
    pub const ALL: [Door; 2] = [Door::Rust, Door::C];

    /// Its name as an argument of the churn workload and in the baseline.
    pub fn name(self) -> &'static str {
        match self {
            Door::Rust => "rust",
            Door::C => "c",
        }
    }
}

/// Why nothing can be counted on this machine; `None` when it can.
pub fn why_unavailable() -> Option<String> {
    let installed = succeeds(Command::new("valgrind").args(["--tool=callgrind", "--version"]));
    (!installed).then(|| "valgrind is not installed (on Debian or Ubuntu `sudo apt-get install valgrind`)".to_owned())
}

/// Instructions that the tracker adds to one pair through `door`.
pub fn added(workspace: &Workspace, programs: &Programs, door: Door, progress: &Progress) -> Result<f64> {
    let [tracked, plain] = PROGRAMS;
    Ok(per_pair(workspace, programs, tracked, door, progress)? - per_pair(workspace, programs, plain, door, progress)?)
}

/// Instructions of one pair, the workload's own among them.
fn per_pair(workspace: &Workspace, programs: &Programs, name: &str, door: Door, progress: &Progress) -> Result<f64> {
    let mut counts = [0; 2];
    for (count, pairs) in counts.iter_mut().zip(PAIRS) {
        let program = programs.command(workspace, name)?;
        let mut command = without_allocator_settings(Command::new("valgrind"));
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program.get_program());
        command.args([&pairs.to_string(), "1", door.name()]);
        command.current_dir(workspace.root()).envs([NO_CLOCK]);
        let ended = child::run_to_end(&mut command, progress)?.expect_success(&format!("callgrind on {name}"))?;
        *count = collected(&ended.stderr).context("callgrind said no \"Collected\"")?;
        progress.add(1);
    }
    let [short, long] = counts;
    Ok((long as f64 - short as f64) / (PAIRS[1] - PAIRS[0]) as f64)
}

/// How often [`added`] runs valgrind, for the progress.
pub const RUNS_PER_DOOR: u64 = 4;

/// The number of instructions that callgrind prints at its end: `==7== Collected : 340870`.
fn collected(stderr: &str) -> Option<u64> {
    let line = stderr.lines().rev().find(|line| line.contains("Collected :"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_are_read_from_callgrinds_last_lines() {
        let stderr = "==7== Events    : Ir\n==7== Collected : 340870\n==7== \n==7== I   refs:      340,870\n";
        assert_eq!(collected(stderr), Some(340_870));
        assert_eq!(collected("valgrind: no such tool\n"), None);
    }
}
