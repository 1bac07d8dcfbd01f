//! Programs that cargo builds from this workspace.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::child::lines;
use crate::user_error::UserError;
use crate::workspace::Workspace;

/// All that `cargo xtask test` needs. Who builds less has other features of some crates, and compiles those a second time.
pub const EVERYTHING: [&str; 2] = ["--workspace", "--all-targets"];

/// The workloads of the benchmark, among the programs of the tests.
pub const WORKLOADS: [&str; 3] = ["-p", "tests", "--bins"];

/// Runs `cargo build` in release; its own progress goes to the terminal. Returns the programs that it built.
pub fn build(workspace: &Workspace, arguments: &[&str]) -> Result<Programs> {
    run(workspace, &["build"], arguments, Kind::Program)
}

/// Compiles tests in release as [`build`] does programs, by the names of their targets.
pub fn build_tests(workspace: &Workspace, arguments: &[&str]) -> Result<Programs> {
    run(workspace, &["test", "--no-run"], arguments, Kind::Test)
}

/// What cargo may make that can be run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Program,
    Test,
}

fn run(workspace: &Workspace, command: &[&str], arguments: &[&str], kind: Kind) -> Result<Programs> {
    let mut cargo = workspace.cargo();
    cargo.args(command).args(["--release", "--message-format=json-render-diagnostics"]).args(arguments);
    let child = cargo.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.context("cannot start cargo")?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    let programs = lines(stdout).filter_map(|line| executable(&line, kind)).collect();
    if child.wait().context("cannot wait for cargo")?.success() {
        return Ok(Programs(programs));
    }
    let what = format!("`cargo {} --release {}` failed", command.join(" "), arguments.join(" "));
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

/// Name and path of the executable of that kind that a message of cargo's announces, if it does.
fn executable(message: &str, kind: Kind) -> Option<(String, PathBuf)> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let path = message.get("executable")?.as_str()?;
    let is_test = message.pointer("/profile/test")?.as_bool()?;
    let is_program = !is_test && ["bin", "example"].contains(&message.pointer("/target/kind/0")?.as_str()?);
    let is_it = if kind == Kind::Test { is_test } else { is_program };
    is_it.then(|| Some((message.pointer("/target/name")?.as_str()?.to_owned(), path.into())))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_are_found_in_cargos_messages() {
        let message = r#"{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"viewer"},
            "profile":{"test":false},"executable":"/t/release/viewer"}"#;
        let viewer = Some(("viewer".to_owned(), PathBuf::from("/t/release/viewer")));
        assert_eq!((executable(message, Kind::Program), executable(message, Kind::Test)), (viewer.clone(), None));
        let test = message.replace("\"test\":false", "\"test\":true");
        assert_eq!((executable(&test, Kind::Program), executable(&test, Kind::Test)), (None, viewer));
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#, Kind::Program), None);
    }
}
