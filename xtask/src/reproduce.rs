//! `cargo xtask reproduce`: builds what the study needs, and has the trainer measure rows of it and write their pages.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;

use anyhow::{Error, Result};
use clap::Args;

use crate::libtorch::{self, LibtorchArgs};
use crate::programs;
use crate::workspace::Workspace;

/// What `cargo xtask reproduce` is asked to do.
#[derive(Args, Clone, Debug)]
pub struct ReproduceArgs {
    /// What `trainer reproduce` is given: rows by their numbers, or all; --quick or --full
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "ROW... --quick|--full")]
    arguments: Vec<OsString>,
}

/// The command. It becomes the trainer, which ends, or goes on, by its own rules when Ctrl-C is typed.
pub fn run(workspace: &Workspace, args: &ReproduceArgs) -> Result<()> {
    libtorch::ensure(workspace, LibtorchArgs { offline: false, again: false })?;
    let programs = programs::build(workspace, &["-p", "trainer", "-p", "viewer"])?;
    let mut trainer = programs.command(workspace, "trainer")?;
    let problem = trainer.arg("reproduce").args(&args.arguments).exec();
    Err(Error::new(problem).context("the trainer cannot be started"))
}
