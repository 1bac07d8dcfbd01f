//! Programs that cargo builds from this workspace.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::child::lines;
use crate::user_error::UserError;
use crate::workspace::Workspace;

/// All that `cargo xtask test` needs. Who builds less has other features of some crates, and compiles those a second time.
pub const EVERYTHING: [&str; 2] = ["--workspace", "--all-targets"];

/// Runs `cargo build` in release; its own progress goes to the terminal. Returns the programs that it built.
pub fn build(workspace: &Workspace, arguments: &[&str]) -> Result<Programs> {
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--release", "--message-format=json-render-diagnostics"]).args(arguments);
    let child = cargo.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.context("cannot start cargo")?;
    let programs =
        lines(child.stdout.take().context("stdout is piped")?).filter_map(|line| executable(&line)).collect();
    if child.wait().context("cannot wait for cargo")?.success() {
        return Ok(Programs(programs));
    }
    let what = format!("`cargo build --release {}` failed", arguments.join(" "));
    Err(UserError::new(what, "see the compiler's messages above").into())
}

/// Programs that cargo built, by name.
#[derive(Debug)]
pub struct Programs(Vec<(String, PathBuf)>);

impl Programs {
    /// A fresh command for the program of that name.
    pub fn command(&self, workspace: &Workspace, name: &str) -> Result<Command> {
        let found = self.0.iter().find(|program| program.0 == name);
        let (_, path) = found.with_context(|| format!("cargo built no program named {name}"))?;
        let mut command = Command::new(path);
        command.current_dir(workspace.root());
        Ok(command)
    }
}

/// Name and path of the program that a message of cargo's announces; none if it announces none, or a test.
fn executable(message: &str) -> Option<(String, PathBuf)> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let path = message.get("executable")?.as_str()?;
    let is_program = ["bin", "example"].contains(&message.pointer("/target/kind/0")?.as_str()?)
        && !message.pointer("/profile/test")?.as_bool()?;
    is_program.then(|| Some((message.pointer("/target/name")?.as_str()?.to_owned(), path.into())))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_are_found_in_cargos_messages() {
        let message = r#"{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"viewer"},
            "profile":{"test":false},"executable":"/t/release/viewer"}"#;
        assert_eq!(executable(message), Some(("viewer".to_owned(), PathBuf::from("/t/release/viewer"))));
        assert_eq!(executable(&message.replace("\"test\":false", "\"test\":true")), None);
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
