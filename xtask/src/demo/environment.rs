//! A Python with torch and torchvision: one that the user names, or a virtual environment of the demo's own.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::child;
use crate::progress::Progress;
use crate::python::{VARIABLE, imports, named};
use crate::workspace::Workspace;

/// What is fetched where no Python has it: the version of libtorch that the trainer is built with.
const PACKAGES: [&str; 2] = ["torch==2.11.0", "torchvision==0.26.0"];

/// The Python, or why there is none.
pub enum Found {
    Python(PathBuf),
    Skipped(String),
}

/// Finds a Python, or makes an environment in `folder` if the user agrees: `yes`, or an answer at the terminal.
pub fn python(workspace: &Workspace, folder: &Path, yes: bool, offline: bool) -> Result<Found> {
    let own = folder.join("venv/bin/python");
    let named = named().map(PathBuf::from);
    if let Some(python) = named.into_iter().chain([own.clone()]).find(|python| imports(python, "torch, torchvision")) {
        return Ok(Found::Python(python));
    }
    let shown = workspace.short(folder);
    let what = format!("torch and torchvision (about 3 GB from PyPI, into {shown}/venv)");
    if offline {
        return Ok(Found::Skipped(format!(
            "{what} would be fetched, and --offline fetches nothing; {VARIABLE} may name a Python"
        )));
    }
    if !yes && !agreed(&what)? {
        return Ok(Found::Skipped(format!(
            "nobody agreed to fetch {what}; give --yes, or {VARIABLE} may name a Python"
        )));
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let progress = Progress::parts("torch and torchvision", 2);
    let run = |command: &mut Command, what: &str| {
        child::run_to_end(command.stdin(Stdio::null()), &progress)?.expect_success(what)?;
        progress.add(1);
        anyhow::Ok(())
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")), "python3 -m venv")?;
    run(
        Command::new(&own).args(["-m", "pip", "install", "--disable-pip-version-check"]).args(PACKAGES),
        "pip install",
    )?;
    progress.done("");
    Ok(Found::Python(own))
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
