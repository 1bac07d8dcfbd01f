//! `cargo xtask oracle`: has a program of another project answer what our tests ask ours, and writes its answers as a fixture.
//!
//! The tests compare with the committed fixture, so they need neither the program nor a network. The script and the versions
//! that it runs with lie beside the fixture.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::child;
use crate::prerequisite;
use crate::progress::Progress;
use crate::user_error::UserError;
use crate::workspace::Workspace;

/// What `cargo xtask oracle` is asked to do.
#[derive(Args, Debug)]
pub struct OracleArgs {
    /// Who is asked
    #[arg(value_enum)]
    oracle: Oracle,
    /// A Python that has the packages already; nothing is fetched then [default: an environment in
    /// target/oracle/torchvision, into which pip fetches 3 GB, 7 GB on disk]
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
}

/// The oracles that can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Oracle {
    /// torchvision's models: parameters, and the bytes that PyTorch's autograd graph saves
    Torchvision,
}

/// The command `cargo xtask oracle`.
///
/// # Errors
/// When the environment cannot be made, or the script fails.
pub fn run(workspace: &Workspace, args: OracleArgs) -> Result<()> {
    let Oracle::Torchvision = args.oracle;
    let folder = workspace.root().join("fixtures/torchvision");
    let python = match args.python {
        Some(python) => python,
        None => environment(&workspace.root().join("target/oracle/torchvision"), &folder.join("requirements.txt"))?,
    };
    let progress = Progress::open("torchvision's models");
    let mut script = Command::new(&python);
    script.arg(folder.join("saved_bytes.py"));
    let answer = child::run_to_end(&mut script, &progress)?.expect_success("saved_bytes.py")?.stdout;
    progress.done("");
    let fixture = folder.join("saved_bytes.json");
    let same = fs::read_to_string(&fixture).is_ok_and(|before| before == answer);
    fs::write(&fixture, answer).with_context(|| format!("cannot write {}", fixture.display()))?;
    let verdict = if same { "the same as before" } else { "it differs from before: see git diff" };
    println!("wrote {}: {verdict}", workspace.short(&fixture));
    Ok(())
}

/// The Python of an environment in `folder` with the packages that `requirements` names. pip fetches what is not there.
fn environment(folder: &Path, requirements: &Path) -> Result<PathBuf> {
    prerequisite::for_fetching()?;
    let python = folder.join("bin/python");
    if !prerequisite::succeeds(Command::new(&python).args(["-m", "pip", "--version"])) {
        let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder).output();
        let made = made.context("cannot start python3")?;
        if !made.status.success() {
            let what = format!("no environment could be made in {}: `python3 -m venv` failed", folder.display());
            let next = "on Debian or Ubuntu `sudo apt-get install python3-venv`; or name a Python that has torch and \
                        torchvision with --python";
            return Err(UserError::new(what, next).into());
        }
    }
    let progress = Progress::open("torch and torchvision: up to 3 GB of PyPI packages");
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--no-input", "--no-cache-dir", "--progress-bar=off", "--requirement"]);
    pip.arg(requirements);
    child::run_to_end(&mut pip, &progress)?.expect_success("pip install")?;
    progress.done("");
    Ok(python)
}
