//! What recording costs programs in Python that train with PyTorch: a step with and without the recorder, and the import.
//!
//! It needs a Python with torch: [`python::with_torch`], or `python3`.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::context::Bench;
use super::measurement::{Measurement, Reading};
use super::rounds::rounds_until;
use super::workload::{Elapsed, cpu_ratio, ratio, run_timed};
use crate::programs::without_allocator_settings;
use crate::progress::Progress;
use crate::{programs, python};

/// The program that is measured. It prints the median of its steps.
const SCRIPT: &str = "xtask/src/bench/python_step.py";

/// What it does: the key of the row, the script's argument, words, and the most that it may take, recorded, in times of itself.
const WORK: [(&str, &str, &str, f64); 4] = [
    ("python_resnet18", "resnet18", "ResNet-18, batch 8", 1.02),
    ("python_transformer", "transformer", "a Transformer of 6 layers", 1.05),
    ("python_mlp", "mlp", "40 tiny layers", 1.5),
    ("python_import", "import", "import torch", 1.05),
];

/// How a program is recorded: the end of the row's key, words, flags.
const WAYS: [(&str, &str, &[&str]); 2] =
    [("", "recorded", &[]), ("_no_stacks", "recorded without stacks", &["--stacks", "off"])];

/// The ratios, for each way of recording.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measurement>> {
    let own = python::with_torch(bench.workspace).unwrap_or_else(|| "python3".into());
    if !python::imports(&own, "torch") {
        let reason =
            format!("no Python with torch: `cargo xtask python` makes one, or {} may name one", python::VARIABLE);
        let skipped = |(key, _, title, limit): (&'static str, _, &str, f64)| Measurement {
            key,
            title: title.to_owned(),
            limit: Some(limit),
            reading: Reading::Skipped(reason.clone()),
        };
        return Ok(WORK.into_iter().map(skipped).collect());
    }
    // With the library: the binary takes the one that lies beside it.
    let programs = programs::build(bench.workspace, &programs::EVERYTHING)?;
    let recorder = PathBuf::from(programs.command(bench.workspace, "alloc-tracker")?.get_program());
    let folder = recorder.parent().context("a program lies in a folder")?;
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([folder.to_owned()].into_iter().chain(std::env::split_paths(&folders)))
        .context("PATH cannot be put together")?;
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let timeline = scratch.path().join("python.timeline.json");
    let package = scratch.path().join("package");
    python::install(bench.workspace, &own, &package)?;
    let script = bench.workspace.root().join(SCRIPT);
    let plain = |work: &str| {
        let mut command = without_allocator_settings(python::command(&own));
        command.arg(&script).arg(work);
        command
    };
    let recorded = |work: &str, flags: &[&str]| {
        let mut command = without_allocator_settings(python::command(&own));
        command.env("PATH", &path).env("PYTHONPATH", &package);
        command.args(["-m", "alloc_tracker"]).args(flags).arg("-o").arg(&timeline).arg(&script).arg(work);
        command
    };
    let progress = Progress::parts("bench: Python", WORK.len() as u64);
    let mut rows = Vec::new();
    for (key, work, title, limit) in WORK {
        let measure = |which: usize| match which.checked_sub(1) {
            None => run_timed(&mut plain(work), &progress),
            Some(way) => run_timed(&mut recorded(work, WAYS[way].2), &progress),
        };
        let of = |runs: &[Vec<Elapsed>]| -> Vec<Measurement> {
            let ways = WAYS.iter().zip(&runs[1..]);
            let both = ways.flat_map(|(&(end, words, _), recorded)| {
                let (of_both, title) = ([&recorded[..], &runs[0]], format!("Python, {title}: {words} / plain"));
                let cpu = cpu_ratio(named(key, end, "_cpu"), format!("{title}, in CPU time"), limit, of_both);
                [ratio(named(key, end, ""), title, limit, of_both), cpu]
            });
            both.collect()
        };
        let enough = |runs: &[Vec<Elapsed>]| of(runs).iter().all(Measurement::is_judged);
        let runs = rounds_until(bench.rounds(7, 3), bench.patience(), 1 + WAYS.len(), measure, enough)?;
        rows.extend(of(&runs));
        progress.add(1);
    }
    progress.done("");
    Ok(rows)
}

/// The key of a row, made of these parts. Keys are part of the program's text; there are few of them.
fn named(key: &str, way: &str, clock: &str) -> &'static str {
    format!("{key}{way}{clock}").leak()
}
