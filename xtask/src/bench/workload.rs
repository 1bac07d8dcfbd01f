//! One run of a workload: a program that times itself.

use std::process::Command;

use anyhow::{Context, Result};

use super::measurement::{Measurement, Reading};
use super::rounds::Compared;
use crate::child;
use crate::progress::Progress;

/// How long one pair, record or step took, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elapsed {
    /// On the wall clock.
    pub wall: f64,
    /// CPU time of all threads.
    pub cpu: f64,
}

/// Runs `command` to its end. It prints both times on a line of their own; a tool that runs a program prints other lines
/// around that.
pub fn run_timed(command: &mut Command, progress: &Progress) -> Result<Elapsed> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ended = child::run_to_end(command, progress)?.expect_success(&name)?;
    ended.stdout.lines().find_map(Elapsed::parse).with_context(|| format!("{name} printed no times"))
}

impl Elapsed {
    /// From a line with both times and nothing else.
    pub fn parse(line: &str) -> Option<Elapsed> {
        let (wall, cpu) = line.trim().split_once(' ')?;
        Some(Elapsed { wall: wall.parse().ok()?, cpu: cpu.parse().ok()? })
    }
}

/// Two programs' runs, round by round, on one of the clocks; of each process so many in a row.
pub fn compared([a, b]: [&[Elapsed]; 2], of_a_process: usize, clock: fn(&Elapsed) -> f64) -> Compared {
    let [a, b] = [a, b].map(|runs| runs.iter().map(clock).collect::<Vec<_>>());
    Compared { of_a_process, ..Compared::new(&a, &b) }
}

/// The ratio of two programs' runs on the wall clock, as a row of the table; each run is a process.
pub fn ratio(key: &'static str, title: String, limit: f64, runs: [&[Elapsed]; 2]) -> Measurement {
    ratio_of_steps(key, title, limit, runs, 1)
}

/// The same in CPU time.
pub fn cpu_ratio(key: &'static str, title: String, limit: f64, runs: [&[Elapsed]; 2]) -> Measurement {
    cpu_ratio_of_steps(key, title, limit, runs, 1)
}

/// The same of steps, of which each process made so many.
pub fn ratio_of_steps(
    key: &'static str,
    title: String,
    limit: f64,
    steps: [&[Elapsed]; 2],
    of_a_process: usize,
) -> Measurement {
    let judged = compared(steps, of_a_process, |elapsed| elapsed.wall);
    let cpu = compared(steps, of_a_process, |elapsed| elapsed.cpu);
    Measurement { key, title, limit: Some(limit), reading: Reading::Ratio { judged, cpu: Some(cpu) } }
}

/// The same of steps, in CPU time.
pub fn cpu_ratio_of_steps(
    key: &'static str,
    title: String,
    limit: f64,
    steps: [&[Elapsed]; 2],
    of_a_process: usize,
) -> Measurement {
    let judged = compared(steps, of_a_process, |elapsed| elapsed.cpu);
    Measurement { key, title, limit: Some(limit), reading: Reading::Ratio { judged, cpu: None } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_stand_on_a_line_of_their_own() {
        let lines = ["heaptrack output will be written to \"a\"", "starting application", "35.102 35.001"];
        assert_eq!(lines.into_iter().find_map(Elapsed::parse), Some(Elapsed { wall: 35.102, cpu: 35.001 }));
    }
}
