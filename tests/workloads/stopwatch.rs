//! How long a workload took, by two clocks: a busy machine stretches the wall clock and leaves CPU time nearly as it
//! is.
use std::time::Instant;

/// Both clocks at the beginning.
pub struct Stopwatch {
    wall: Instant,
    cpu: f64,
}

impl Stopwatch {
    /// Begins.
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_nanoseconds() }
    }

    /// Prints the nanoseconds that one of `units` took: on the wall clock, and of CPU time of all threads.
    pub fn print(self, units: u64) {
        let wall = self.wall.elapsed().as_nanos() as f64;
        let cpu = cpu_nanoseconds() - self.cpu;
        println!("{:.3} {:.3}", wall / units as f64, cpu / units as f64);
    }
}

fn cpu_nanoseconds() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` may be written to; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}
