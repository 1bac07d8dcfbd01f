//! `cargo xtask demo`: from a fresh machine to the first report.
//!
//! ```text
//!  libtorch -> build -> four runs on real images -> pictures -> comparison -> one HTML report, all in target/demo/
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;

use crate::child;
use crate::libtorch::{self, LibtorchArgs};
use crate::programs::{self, Programs};
use crate::progress::Progress;
use crate::trainer_compare::{self, CompareSettings, threads};
use crate::workspace::Workspace;

/// What `cargo xtask demo` is asked to do.
#[derive(Args, Clone, Copy, Debug)]
pub struct DemoArgs {
    /// Steps of each run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// Images a step
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// Fetch nothing: use the libtorch that is on this machine
    #[arg(long)]
    offline: bool,
}

const FOLDER: &str = "target/demo";

/// The command.
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

/// Makes the folder, or empties it: files of an earlier demo must not be taken for those of this one.
fn make_empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
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

/// The files of a folder and their sizes in bytes.
fn listing(folder: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries
        .map(|entry| entry.and_then(|entry| Ok((entry.path(), entry.metadata()?.len()))))
        .collect::<Result<Vec<_>, _>>()
        .with_context(|| format!("cannot read {}", folder.display()))?;
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_demo_left_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("demo");
        make_empty(&place).unwrap();
        fs::write(place.join("old.svg"), "old").unwrap();
        assert_eq!(listing(&place).unwrap(), [(place.join("old.svg"), 3)]);
        make_empty(&place).unwrap();
        assert_eq!(listing(&place).unwrap(), []);
    }
}
