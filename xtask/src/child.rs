//! Other programs: started, watched while they run, and quoted when they fail.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result};

use crate::progress::Progress;
use crate::user_error::UserError;

/// How many of the last lines of a failed program are quoted.
const QUOTED_LINES: usize = 40;

/// A program that ran to its end.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// How it ended, in words.
    pub status: String,
    /// All it printed on stdout.
    pub stdout: String,
    /// All it printed on stderr.
    pub stderr: String,
}

impl Finished {
    /// Returns a run that ended with 0. Any other is an error that quotes its last lines.
    pub fn expect_success(self, what: &str) -> Result<Self> {
        if self.code == Some(0) { Ok(self) } else { Err(self.failure(what).into()) }
    }

    /// The error that a failed run of `what` is: its exit status, and its last words quoted.
    pub fn failure(&self, what: &str) -> UserError {
        let text = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let tail = &lines[lines.len().saturating_sub(QUOTED_LINES)..];
        let quoted = tail.iter().fold(String::new(), |text, line| format!("{text}\n    | {line}"));
        UserError::new(format!("{what} failed ({}){quoted}", self.status), "see its own message above")
    }
}

/// Runs `command` to its end; `progress` shows the latest line of its stderr.
pub fn run_to_end(command: &mut Command, progress: &Progress) -> Result<Finished> {
    run_with(command, |line| progress.note(line))
}

/// Runs `command` to its end; `on_line` gets each line of its stderr as it comes.
pub fn run_with(command: &mut Command, mut on_line: impl FnMut(&str)) -> Result<Finished> {
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let mut stdout = child.stdout.take().context("stdout is piped")?;
    let stderr = child.stderr.take().context("stderr is piped")?;
    let stdout_text = thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stdout.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut stderr_text = String::new();
    for line in lines(stderr) {
        on_line(&line);
        stderr_text.push_str(&line);
        stderr_text.push('\n');
    }
    let status = child.wait().with_context(|| format!("cannot wait for {program}"))?;
    let stdout = stdout_text.join().unwrap_or_default();
    Ok(Finished { code: status.code(), status: status.to_string(), stdout, stderr: stderr_text })
}

/// The lines of a stream as they come. Bytes that are not UTF-8 are replaced and do not end the stream.
pub fn lines(stream: impl Read) -> impl Iterator<Item = String> {
    BufReader::new(stream).split(b'\n').map_while(Result::ok).map(|line| String::from_utf8_lossy(&line).into_owned())
}

/// A line from one of a program's two streams.
pub enum OutputLine {
    /// From stdout.
    Stdout(String),
    /// From stderr.
    Stderr(String),
}

/// Runs `command` and calls `on_line` with each line of both streams, in the order in which they arrive. Returns whether
/// it ended with 0.
pub fn stream_lines(command: &mut Command, mut on_line: impl FnMut(OutputLine)) -> Result<bool> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (child.stdout.take().context("piped")?, child.stderr.take().context("piped")?);
    let (send, receive) = mpsc::channel();
    let send_stderr = send.clone();
    thread::spawn(move || lines(stdout).try_for_each(|line| send.send(OutputLine::Stdout(line))));
    thread::spawn(move || lines(stderr).try_for_each(|line| send_stderr.send(OutputLine::Stderr(line))));
    receive.iter().for_each(&mut on_line);
    Ok(child.wait()?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Finished {
        run_to_end(Command::new("sh").args(["-c", script]), &Progress::open("test")).unwrap()
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
}
