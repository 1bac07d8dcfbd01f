//! Runs that take turns (`--take-turns`): each waits before each step until it is told to go on, so several runs can be
//! timed step by step against each other on a machine that is not always equally fast.
use std::io::{self, BufRead};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::console;

/// Waits for a line on stdin. Returns `false` at the end of stdin, which ends the run.
pub(super) fn wait_for_turn() -> Result<bool> {
    let read = io::stdin().lock().skip_until(b'\n').context("stdin cannot be read for the next turn")?;
    Ok(read > 0)
}

/// The two clocks of a step. On a busy machine a step takes more time on the wall clock, and nearly the same CPU time.
pub(super) struct StepClocks {
    wall: Instant,
    cpu: Duration,
}

impl StepClocks {
    /// Starts both clocks, as the step begins.
    pub(super) fn start() -> StepClocks {
        StepClocks { wall: Instant::now(), cpu: cpu_time() }
    }

    /// Prints on stdout how many nanoseconds the step took: on the wall clock, and of CPU time of all threads.
    pub(super) fn report(&self) -> Result<()> {
        let wall = self.wall.elapsed();
        let cpu = cpu_time().saturating_sub(self.cpu);
        console::print_result(&format!("{} {}", wall.as_nanos(), cpu.as_nanos()))
    }
}

/// CPU time of this process so far.
fn cpu_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` may be written to; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
