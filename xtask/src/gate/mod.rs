//! `cargo xtask gate`: a small real run of each model, and the instructions of a malloc+free pair, compared with
//! committed baselines.
//!
//! The exit code is 1 when memory or instructions grew, and 2 when the gate could not decide.

mod baseline;
mod instructions;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::child;
use crate::libtorch::{self, LibtorchArgs};
use crate::outcome::Outcome;
use crate::programs::{self, Programs};
use crate::progress::Progress;
use crate::trainer_compare::{self, CompareSettings, model_of};
use crate::user_error::UserError;
use crate::workspace::Workspace;

/// What `cargo xtask gate` is asked to do.
#[derive(Args, Clone, Copy, Debug)]
pub struct GateArgs {
    /// Make the runs of today the baselines
    #[arg(long)]
    update: bool,
    /// Only the instructions of a malloc+free pair: needs no libtorch
    #[arg(long)]
    instructions: bool,
    /// Fetch nothing: use the libtorch that is on this machine
    #[arg(long)]
    offline: bool,
}

const FOLDER: &str = "target/gate";
const BASELINES: &str = "fixtures/baselines";

/// The command.
pub fn run(workspace: &Workspace, args: GateArgs) -> Result<Outcome> {
    if args.instructions {
        let programs = programs::build(workspace, &["-p", "tests", "--bins"])?;
        return instructions::run(workspace, &programs, args.update);
    }
    libtorch::ensure(workspace, LibtorchArgs { offline: args.offline, again: false })?;
    let programs = programs::build(workspace, &programs::EVERYTHING)?;
    let memory = memory(workspace, &programs, args.update)?;
    let instructions = instructions::run(workspace, &programs, args.update)?;
    Ok(if memory == Outcome::Fine { instructions } else { memory })
}

fn memory(workspace: &Workspace, programs: &Programs, make_baselines: bool) -> Result<Outcome> {
    let folder = workspace.root().join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut outcome = Outcome::Fine;
    for timeline in small_runs(workspace, programs)? {
        let model = model_of(&timeline)?;
        let baseline = Path::new(BASELINES).join(timeline.file_name().context("a timeline has a name")?);
        if make_baselines {
            update(workspace, &timeline, &baseline)?;
        } else if check(workspace, programs, model, &timeline, &baseline)? == Outcome::CheckFailed {
            outcome = Outcome::CheckFailed;
        }
    }
    Ok(outcome)
}

/// A small training run of each model; their timelines.
fn small_runs(workspace: &Workspace, programs: &Programs) -> Result<Vec<PathBuf>> {
    let settings =
        CompareSettings { modes: Some("train"), batch: 2, steps: 3, image_size: 64, threads: 1, out: FOLDER };
    let mut command = settings.command(programs, workspace)?;
    // oneDNN lays tensors out for the widest vectors it finds; without this each CPU would have its own baseline.
    command.env("ONEDNN_MAX_CPU_ISA", "AVX2");
    trainer_compare::run_all(&mut command, |run| format!("gate: run {}", run.strip_suffix(" train").unwrap_or(run)))
}

fn update(workspace: &Workspace, timeline: &Path, baseline: &Path) -> Result<()> {
    let to = workspace.root().join(baseline);
    fs::create_dir_all(to.parent().context("a baseline lies in a folder")?)?;
    let from = workspace.root().join(timeline);
    let text = fs::read_to_string(&from).with_context(|| format!("cannot read {}", from.display()))?;
    let text =
        baseline::from_timeline(&text, workspace.root()).with_context(|| format!("cannot read {}", from.display()))?;
    fs::write(&to, text).with_context(|| format!("cannot write {}", to.display()))?;
    println!("gate: {} is the new baseline", baseline.display());
    Ok(())
}

fn check(workspace: &Workspace, programs: &Programs, model: &str, timeline: &Path, baseline: &Path) -> Result<Outcome> {
    if !workspace.root().join(baseline).exists() {
        let what = format!("there is no baseline {} to hold {model} against", baseline.display());
        return Err(UserError::new(what, "make it with `cargo xtask gate --update` and commit it").into());
    }
    let progress = Progress::open(format!("gate: check {model}"));
    let mut viewer = programs.command(workspace, "viewer")?;
    viewer.arg("check").arg(timeline).arg("--baseline").arg(baseline);
    let ended = child::run_to_end(&mut viewer, &progress)?;
    progress.done("");
    print!("{}", ended.stdout);
    match ended.code {
        Some(0) => Ok(Outcome::Fine),
        Some(1) => {
            eprint!("{}", ended.stderr);
            println!("gate: {model} grew; if that is meant, `cargo xtask gate --update` and say why in the commit");
            Ok(Outcome::CheckFailed)
        }
        _ => Err(ended.failure("viewer check").into()),
    }
}
