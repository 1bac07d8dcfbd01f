//! `cargo xtask demo --python`: torchvision's ResNet-18 in Python and the trainer's, recorded, drawn and beside each other.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::asked::DemoArgs;
use super::folder::{listing, make_empty};
use super::same;
use crate::child;
use crate::libtorch::{self, LibtorchArgs};
use crate::programs;
use crate::progress::Progress;
use crate::python::{self, Environment, Found, PACKAGE, VARIABLE};
use crate::trainer_compare::DATA;
use crate::workspace::Workspace;

const FOLDER: &str = "target/python-demo";
const SCRIPT: &str = "xtask/src/demo/resnet18.py";

/// Records both, draws both, and prints how they compare; or says why not.
pub fn run(workspace: &Workspace, args: DemoArgs) -> Result<()> {
    let folder = workspace.root().join(FOLDER);
    let python = match found_or_made(workspace, args)? {
        Found::Python(python) => python,
        Found::Skipped(why) => {
            println!("SKIPPED: {why}");
            return Ok(());
        }
    };
    libtorch::ensure(workspace, LibtorchArgs { offline: args.offline, again: false })?;
    // With the library that is preloaded, which the recorder looks for beside itself.
    let programs = programs::build(workspace, &programs::EVERYTHING)?;
    let out = folder.join("run");
    make_empty(&out)?;
    let paths = ["python", "trainer"].map(|name| out.join(format!("{name}.timeline.json")));
    let [batch, steps] = [args.batch, args.steps].map(|number| number.to_string());

    let progress = Progress::parts("ResNet-18 in Python and in Rust", 3);
    let mut recorded = programs.command(workspace, "alloc-tracker")?;
    recorded.env("PYTHONPATH", PACKAGE).env("PYTHONDONTWRITEBYTECODE", "1").env("OMP_NUM_THREADS", "1");
    recorded.args(["record", "-o"]).arg(&paths[0]).arg("--").arg(&python).args([SCRIPT, &batch, &steps]);
    let said = child::run_to_end(&mut recorded, &progress)?.expect_success("alloc-tracker record")?;
    progress.add(1);
    let mut train = programs.command(workspace, "trainer")?;
    train.args(["train", "--model", "resnet18", "--image-size", "224", "--threads", "1", "--data", DATA]);
    train
        .args(["--optimizer", "sgd", "--momentum", "0.9", "--batch", &batch, "--steps", &steps, "--out"])
        .arg(&paths[1]);
    child::run_to_end(&mut train, &progress)?.expect_success("trainer train")?;
    progress.add(1);
    let mut draw = programs.command(workspace, "viewer")?;
    child::run_to_end(draw.args(&paths), &progress)?.expect_success("viewer")?;
    progress.add(1);
    progress.done("");

    for line in said.stderr.lines().filter(|line| line.starts_with("alloc_tracker:")) {
        println!("{line}");
    }
    let [python, trainer] = paths.each_ref().map(|path| same::Tables::read(path));
    println!("{}", same::text(&python?, &trainer?));
    println!("\nwritten:");
    for (path, bytes) in listing(&out).context("the pictures")? {
        println!("  {}  {} kB", workspace.short(&path), bytes.div_ceil(1000));
    }
    Ok(())
}

/// A Python with torch and torchvision: the one that the user names, or that of the environment, which is made if the user agrees.
fn found_or_made(workspace: &Workspace, args: DemoArgs) -> Result<Found> {
    if let Some(named) = python::named().map(PathBuf::from).filter(|named| python::imports(named, python::MODULES)) {
        return Ok(Found::Python(named));
    }
    let environment = Environment::locate(workspace)?;
    if let Some(made) = environment.made() {
        return Ok(Found::Python(made));
    }
    let what = format!("{}, into {}", python::WHAT, environment.folder().display());
    if args.offline {
        let why = format!("{what} would be fetched, and --offline fetches nothing; {VARIABLE} may name a Python");
        return Ok(Found::Skipped(why));
    }
    if !args.yes && !agreed(&what)? {
        let why = format!("nobody agreed to fetch {what}; give --yes, or {VARIABLE} may name a Python");
        return Ok(Found::Skipped(why));
    }
    environment.make()
}

/// Asks at the terminal; nobody there has agreed to nothing.
fn agreed(what: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    print!("This fetches {what}. Go on? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}
