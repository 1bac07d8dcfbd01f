//! MobileNetV1 and ResNet-18, in training and in inference.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};

use super::asked::DemoArgs;
use super::folder::{listing, make_empty};
use crate::child;
use crate::libtorch::{self, LibtorchArgs};
use crate::programs::{self, Programs};
use crate::progress::Progress;
use crate::trainer_compare::{self, CompareSettings, threads};
use crate::workspace::Workspace;

const FOLDER: &str = "target/demo";

/// Four runs, pictures of each, their comparison and the report.
pub fn run(workspace: &Workspace, args: DemoArgs) -> Result<()> {
    let started = Instant::now();
    libtorch::ensure(workspace, LibtorchArgs { offline: args.offline, again: false })?;
    let programs = programs::build(workspace, &["-p", "trainer", "-p", "viewer"])?;
    let folder = workspace.root().join(FOLDER);
    make_empty(&folder)?;

    let (batch, steps) = (args.batch, args.steps);
    let settings = CompareSettings { modes: None, batch, steps, image_size: 224, threads: threads(), out: FOLDER };
    let timelines = trainer_compare::run_all(&mut settings.command(&programs, workspace)?, |run| {
        format!("run {run}, batch {batch}, {steps} steps")
    })?;
    let comparison = draw(workspace, &programs, &timelines)?;

    println!("{}", comparison.trim_end());
    println!("\nwritten in {:.0} s:", started.elapsed().as_secs_f64());
    for (path, bytes) in listing(&folder)? {
        println!("  {}  {} kB", workspace.short(&path), bytes.div_ceil(1000));
    }
    Ok(())
}

/// Draws the pictures, writes the comparison and the report. Returns the comparison as text.
fn draw(workspace: &Workspace, programs: &Programs, timelines: &[PathBuf]) -> Result<String> {
    let progress = Progress::parts("draw and compare", 4);
    let viewer = |arguments: &[&str], more: &[&str]| {
        let mut command = programs.command(workspace, "viewer")?;
        command.args(arguments).args(timelines).args(more);
        let ended = child::run_to_end(&mut command, &progress)?;
        progress.add(1);
        ended.expect_success(&format!("viewer {}", arguments.join(" ")))
    };
    viewer(&[], &[])?;
    let json = viewer(&["compare"], &["--json"])?.stdout;
    let path = workspace.root().join(FOLDER).join("compare.json");
    fs::write(&path, json).with_context(|| format!("cannot write {}", path.display()))?;
    let report = format!("{FOLDER}/report.html");
    viewer(&["report"], &["-o", &report])?;
    let comparison = viewer(&["compare"], &[])?.stdout;
    progress.done("");
    Ok(comparison)
}
