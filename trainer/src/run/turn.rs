//! Turns: a run that waits before each step until it is told to go on, so that several runs can be timed step by step
//! against each other on a machine that is not always equally fast.
use std::io::{self, BufRead};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::say;

/// Waits for a line on stdin; `false` when there will be none, which ends the run.
pub(super) fn wait() -> Result<bool> {
    let read = io::stdin().lock().skip_until(b'\n').context("stdin cannot be read for the next turn")?;
    Ok(read > 0)
}

/// A step's two clocks: a busy machine stretches the wall clock and leaves CPU time nearly as it is.
pub(super) struct Clocks {
    wall: Instant,
    cpu: Duration,
}

impl Clocks {
    /// The step begins.
    pub(super) fn start() -> Clocks {
        Clocks { wall: Instant::now(), cpu: cpu_time() }
    }

    /// Says on stdout how many nanoseconds the step took, on the wall clock and of CPU time of all threads.
    pub(super) fn over(&self) -> Result<()> {
        let wall = self.wall.elapsed();
        let cpu = cpu_time().saturating_sub(self.cpu);
        say::result(&format!("{} {}", wall.as_nanos(), cpu.as_nanos()))
    }
}

/// CPU time of this process so far.
fn cpu_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` may be written to; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
