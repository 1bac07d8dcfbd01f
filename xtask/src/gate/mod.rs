//! `cargo xtask gate`: a small real run of each model, and the instructions of a malloc+free pair, held against their
//! committed baselines.
//!
//! Two exit codes matter here: 1 when memory or instructions grew, 2 when the gate could not judge.

mod baseline;
mod instructions;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::child::{self, Programs};
use crate::progress::Step;
use crate::trainer_run::{MODELS, TrainerRun};
use crate::trouble::Trouble;
use crate::workspace::Workspace;
use crate::{Outcome, libtorch};

/// What was asked of `cargo xtask gate`.
#[derive(Args, Clone, Copy, Debug)]
pub struct Wish {
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
pub fn run(workspace: &Workspace, wish: Wish) -> Result<Outcome> {
    let memory = if wish.instructions { Outcome::Fine } else { memory(workspace, wish)? };
    let instructions = instructions::run(workspace, wish.update)?;
    Ok(if memory == Outcome::Fine { instructions } else { memory })
}

fn memory(workspace: &Workspace, wish: Wish) -> Result<Outcome> {
    libtorch::ensure(workspace, libtorch::Wish { offline: wish.offline, again: false })?;
    let programs = child::build(workspace, &["-p", "trainer", "-p", "viewer"])?;
    let folder = workspace.root().join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut outcome = Outcome::Fine;
    for model in MODELS {
        let timeline = small_run(workspace, &programs, model)?;
        let baseline = Path::new(BASELINES).join(timeline.file_name().context("a timeline has a name")?);
        if wish.update {
            update(workspace, &timeline, &baseline)?;
        } else if check(workspace, &programs, model, &timeline, &baseline)? == Outcome::CheckFailed {
            outcome = Outcome::CheckFailed;
        }
    }
    Ok(outcome)
}

fn small_run(workspace: &Workspace, programs: &Programs, model: &str) -> Result<PathBuf> {
    let out = Path::new(FOLDER).join(format!("{model}-train.timeline.json"));
    let run = TrainerRun { mode: "train", model, batch: 2, steps: 3, image_size: 64, threads: 1, out: out.clone() };
    let mut command = run.command(programs, workspace)?;
    // oneDNN lays tensors out for the widest vectors it finds; without this each CPU would have its own baseline.
    command.env("ONEDNN_MAX_CPU_ISA", "AVX2");
    let step = Step::open(format!("gate: run {model}"));
    child::watch(&mut command, &step)?.expect_success(&format!("the run {model} train"))?;
    step.done("");
    Ok(out)
}

fn update(workspace: &Workspace, timeline: &Path, baseline: &Path) -> Result<()> {
    let to = workspace.root().join(baseline);
    fs::create_dir_all(to.parent().context("a baseline lies in a folder")?)?;
    let from = workspace.root().join(timeline);
    let text = fs::read_to_string(&from).with_context(|| format!("cannot read {}", from.display()))?;
    let text = baseline::of(&text, workspace.root()).with_context(|| format!("cannot read {}", from.display()))?;
    fs::write(&to, text).with_context(|| format!("cannot write {}", to.display()))?;
    println!("gate: {} is the new baseline", baseline.display());
    Ok(())
}

fn check(workspace: &Workspace, programs: &Programs, model: &str, timeline: &Path, baseline: &Path) -> Result<Outcome> {
    if !workspace.root().join(baseline).exists() {
        let what = format!("there is no baseline {} to hold {model} against", baseline.display());
        return Err(Trouble::new(what, "make it with `cargo xtask gate --update` and commit it").into());
    }
    let step = Step::open(format!("gate: check {model}"));
    let mut viewer = programs.command(workspace, "viewer")?;
    viewer.arg("check").arg(timeline).arg("--baseline").arg(baseline);
    let ended = child::watch(&mut viewer, &step)?;
    step.done("");
    print!("{}", ended.stdout);
    match ended.code {
        Some(0) => Ok(Outcome::Fine),
        Some(1) => {
            eprint!("{}", ended.stderr);
            println!("gate: {model} grew; if that is meant, `cargo xtask gate --update` and say why in the commit");
            Ok(Outcome::CheckFailed)
        }
        _ => Err(ended.trouble("viewer check").into()),
    }
}
