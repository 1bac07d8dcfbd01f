//! Other programs: started, watched while they run, and quoted when they fail.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result};

use crate::progress::Step;
use crate::trouble::Trouble;
use crate::workspace::Workspace;

/// How much of a failed program's last words is quoted.
const QUOTED_LINES: usize = 40;

/// A program that ran to its end.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// How it ended, in words.
    pub status: String,
    /// All it printed on stdout.
    pub stdout: String,
    /// All it printed on stderr.
    pub stderr: String,
}

impl Ended {
    /// Passes a run that ended with 0; quotes any other.
    pub fn expect_success(self, what: &str) -> Result<Self> {
        if self.code == Some(0) { Ok(self) } else { Err(self.trouble(what).into()) }
    }

    /// What to say about a run that failed.
    pub fn trouble(&self, what: &str) -> Trouble {
        let words = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        let lines: Vec<&str> = words.trim_end().lines().collect();
        let tail = &lines[lines.len().saturating_sub(QUOTED_LINES)..];
        let quoted = tail.iter().fold(String::new(), |text, line| format!("{text}\n    | {line}"));
        Trouble::new(format!("{what} failed ({}){quoted}", self.status), "see its own message above")
    }
}

/// Runs `command` to its end; `step` shows the latest line of its stderr.
pub fn watch(command: &mut Command, step: &Step) -> Result<Ended> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let mut stdout = child.stdout.take().context("stdout is piped")?;
    let stderr = child.stderr.take().context("stderr is piped")?;
    let printed = thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stdout.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut said = String::new();
    for line in lines(stderr) {
        step.note(&line);
        said.push_str(&line);
        said.push('\n');
    }
    let status = child.wait().with_context(|| format!("cannot wait for {program}"))?;
    let stdout = printed.join().unwrap_or_default();
    Ok(Ended { code: status.code(), status: status.to_string(), stdout, stderr: said })
}

/// The lines of a stream as they come; what is not UTF-8 is replaced, never an end.
pub fn lines(stream: impl Read) -> impl Iterator<Item = String> {
    BufReader::new(stream).split(b'\n').map_while(Result::ok).map(|line| String::from_utf8_lossy(&line).into_owned())
}

/// A line from one of a program's two streams.
pub enum Line {
    /// From stdout.
    Out(String),
    /// From stderr.
    Err(String),
}

/// Runs `command` and hands over its lines as they come, both streams in the order in which they arrive. True when it
/// ended with 0.
pub fn listen(command: &mut Command, mut hear: impl FnMut(Line)) -> Result<bool> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (child.stdout.take().context("piped")?, child.stderr.take().context("piped")?);
    let (send, receive) = mpsc::channel();
    let also = send.clone();
    thread::spawn(move || lines(stdout).try_for_each(|line| send.send(Line::Out(line))));
    thread::spawn(move || lines(stderr).try_for_each(|line| also.send(Line::Err(line))));
    receive.iter().for_each(&mut hear);
    Ok(child.wait()?.success())
}

/// Builds with cargo in release; its own progress goes to the terminal. The programs that came out, by name.
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
    Err(Trouble::new(what, "see the compiler's messages above").into())
}

/// Programs that cargo built.
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

/// The program that one message of cargo's speaks of, unless it is a test.
fn executable(message: &str) -> Option<(String, PathBuf)> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let path = message.get("executable")?.as_str()?;
    let is_program =
        message.pointer("/target/kind/0")?.as_str()? == "bin" && !message.pointer("/profile/test")?.as_bool()?;
    is_program.then(|| Some((message.pointer("/target/name")?.as_str()?.to_owned(), path.into())))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Ended {
        watch(Command::new("sh").args(["-c", script]), &Step::open("test")).unwrap()
    }

    #[test]
    fn a_run_is_kept_with_both_streams() {
        let ended = shell("echo out; echo err >&2");
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "out\n", "err\n"));
    }

    #[test]
    fn a_failed_run_is_told_with_its_stderr() {
        let error = shell("echo out; echo no such model >&2; exit 2").expect_success("resnet19 train").unwrap_err();
        assert_eq!(error.to_string(), "resnet19 train failed (exit status: 2)\n    | no such model");
    }

    #[test]
    fn the_programs_are_found_in_cargos_messages() {
        let message = r#"{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"viewer"},
            "profile":{"test":false},"executable":"/t/release/viewer"}"#;
        assert_eq!(executable(message), Some(("viewer".to_owned(), PathBuf::from("/t/release/viewer"))));
        assert_eq!(executable(&message.replace("\"test\":false", "\"test\":true")), None);
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
