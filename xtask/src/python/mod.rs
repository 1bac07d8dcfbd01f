//! Pythons for what runs programs in Python: one that the user names, one with torch that is made here, or that of the machine.

mod interpreter;

mod environment;
mod package;

use std::path::PathBuf;

use anyhow::Result;

pub use self::environment::{Environment, Found, MODULES, WHAT};
pub use self::interpreter::{VARIABLE, command, imports, named};
pub use self::package::{PACKAGE, install, modules};
use crate::workspace::Workspace;

/// The command `cargo xtask python`: makes the environment with torch, or says in a sentence what this machine lacks for it.
///
/// # Errors
/// When something else stands in the way.
pub fn run(workspace: &Workspace) -> Result<()> {
    match Environment::locate(workspace)?.make()? {
        Found::Python(python) => println!("a Python with torch and torchvision: {}", python.display()),
        Found::Skipped(why) => println!("SKIPPED: {why}"),
    }
    Ok(())
}

/// The Python where torch is needed: the one that the user names, else the environment's, if it was made.
pub fn with_torch(workspace: &Workspace) -> Option<PathBuf> {
    named().map(PathBuf::from).or_else(|| Environment::locate(workspace).ok()?.made())
}
