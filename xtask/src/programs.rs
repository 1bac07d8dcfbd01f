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

/// What the variables begin with that change how allocators work, the tracker among them.
const ALLOCATOR_SETTINGS: [&str; 5] = ["ALLOC_TRACKER", "GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_", "_RJEM_MALLOC_CONF"];

/// `command` without the variables that change how allocators work: what it measures is then what the tables and limits name.
pub fn without_allocator_settings(mut command: Command) -> Command {
    let is_one = |name: &std::ffi::OsStr| {
        let name = name.to_string_lossy();
        ALLOCATOR_SETTINGS.iter().any(|begin| name.starts_with(begin))
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_one(name)) {
        command.env_remove(name);
    }
    command
}

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
    /// A fresh command for the program of that name, without the user's settings of allocators.
    pub fn command(&self, workspace: &Workspace, name: &str) -> Result<Command> {
        let found = self.0.iter().find(|program| program.0 == name);
        let (_, path) = found.with_context(|| format!("cargo built no program named {name}"))?;
        let mut command = without_allocator_settings(Command::new(path));
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
