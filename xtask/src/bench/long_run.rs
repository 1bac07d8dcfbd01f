//! The tracker's memory on a long run of a network with many layers: DenseNet-121 of the tch crate (`trainer/examples`).

use anyhow::{Context, Result};

use super::context::Bench;
use super::measurement::Measurement;
use super::tracker_memory;
use crate::child;
use crate::programs;
use crate::progress::Progress;

const PROGRAM: &str = "densenet121";
/// The steps after which the tracker's memory is read.
const STEPS: [(&str, &str); 2] = [("long_run_tracker_bytes_60", "60"), ("long_run_tracker_bytes_600", "600")];

/// A row for each of the steps.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measurement>> {
    // With the packages of the demo's build, so that nothing is built twice.
    let programs = programs::build(bench.workspace, &["-p", "trainer", "-p", "viewer", "--example", PROGRAM])?;
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let steps = &STEPS[..if bench.quick { 1 } else { STEPS.len() }];
    let progress = Progress::open(format!("bench: {} steps of DenseNet-121", steps[steps.len() - 1].1));
    let mut command = programs.command(bench.workspace, PROGRAM)?;
    command.arg(scratch.path().join("run.timeline.json")).args(steps.iter().map(|(_, step)| step));
    child::run_to_end(&mut command, &progress)?.expect_success(PROGRAM)?;
    progress.done("");
    let row = |(place, (key, step)): (usize, &(&'static str, &str))| {
        // The program writes a copy at each of the steps but the last.
        let copy = if place + 1 < steps.len() { format!(".dump-{}", place + 1) } else { String::new() };
        let title = format!(
            "tracker's memory at step {step} of DenseNet-121, batch 2, 224 x 224, Adam, bytes; limit 1 % of the peak + 16 MiB"
        );
        tracker_memory::row(key, title, &scratch.path().join(format!("run{copy}.timeline.json")))
    };
    steps.iter().enumerate().map(row).collect()
}
