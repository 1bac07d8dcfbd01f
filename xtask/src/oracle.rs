//! `cargo xtask oracle`: has a program of another project answer what our tests ask ours, and writes its answers as a fixture.
//!
//! The tests compare with the committed fixture, so they need neither the program nor a network. The script and the versions
//! that it runs with lie beside the fixture.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::child;
use crate::progress::Progress;
use crate::python::{Environment, Found};
use crate::user_error::UserError;
use crate::workspace::Workspace;

/// What `cargo xtask oracle` is asked to do.
#[derive(Args, Debug)]
pub struct OracleArgs {
    /// Who is asked
    #[arg(value_enum)]
    oracle: Oracle,
    /// A Python that has the packages already; nothing is fetched then [default: that of `cargo xtask python`, which is made
    /// if it is not there]
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
        None => match Environment::locate(workspace)?.make()? {
            Found::Python(python) => python,
            Found::Skipped(why) => return Err(UserError::new(why, "name a Python that has them with --python").into()),
        },
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
