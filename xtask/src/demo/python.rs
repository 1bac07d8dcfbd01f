//! `cargo xtask demo --python`: torchvision's ResNet-18 in Python and the trainer's, recorded, drawn and beside each other.

use anyhow::{Context, Result};

use super::asked::DemoArgs;
use super::environment::{self, Found};
use super::folder::{listing, make_empty};
use super::same;
use crate::child;
use crate::libtorch::{self, LibtorchArgs};
use crate::programs;
use crate::progress::Progress;
use crate::python::PACKAGE;
use crate::trainer_compare::DATA;
use crate::workspace::Workspace;

const FOLDER: &str = "target/python-demo";
const SCRIPT: &str = "xtask/src/demo/resnet18.py";

/// Records both, draws both, and prints how they compare; or says why not.
pub fn run(workspace: &Workspace, args: DemoArgs) -> Result<()> {
    let folder = workspace.root().join(FOLDER);
    let python = match environment::python(workspace, &folder, args.yes, args.offline)? {
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
