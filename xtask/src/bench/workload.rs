//! One run of a workload: a program that times itself.

use std::process::Command;

use anyhow::{Context, Result};

use super::answer::Found;
use super::rounds::Compared;
use crate::child;
use crate::progress::Step;

/// Variables that would make a run another one than the table says.
const STEERS: [&str; 2] = ["ALLOC_TRACKER", "_RJEM_MALLOC_CONF"];

/// How long one pair, record or step took, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    /// On the wall clock.
    pub wall: f64,
    /// CPU time of all threads.
    pub cpu: f64,
}

/// Runs `command` to its end, which prints both times on a line of their own; tools that run a program print lines
/// around it.
pub fn took(command: &mut Command, step: &Step) -> Result<Took> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ended = child::watch(command, step)?.expect_success(&name)?;
    ended.stdout.lines().find_map(Took::parse).with_context(|| format!("{name} printed no times"))
}

impl Took {
    /// From a line with both times and nothing else.
    pub fn parse(line: &str) -> Option<Took> {
        let (wall, cpu) = line.trim().split_once(' ')?;
        Some(Took { wall: wall.parse().ok()?, cpu: cpu.parse().ok()? })
    }
}

/// Two programs' runs, round by round, on one of the clocks.
pub fn compared(a: &[Took], b: &[Took], clock: fn(&Took) -> f64) -> Compared {
    let [a, b] = [a, b].map(|runs| runs.iter().map(clock).collect::<Vec<_>>());
    Compared::new(&a, &b)
}

/// The same on both clocks, as an answer.
pub fn ratio(a: &[Took], b: &[Took]) -> Found {
    Found::Ratio { wall: compared(a, b, |took| took.wall), cpu: compared(a, b, |took| took.cpu) }
}

/// `command` without what could steer the allocators from outside.
pub fn unsteered(mut command: Command) -> Command {
    for name in STEERS {
        command.env_remove(name);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_stand_on_a_line_of_their_own() {
        let lines = ["heaptrack output will be written to \"a\"", "starting application", "35.102 35.001"];
        assert_eq!(lines.into_iter().find_map(Took::parse), Some(Took { wall: 35.102, cpu: 35.001 }));
    }
}
