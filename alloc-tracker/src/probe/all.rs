//! The probes of one recording, opened once and read on its ticks.
use alloc_timeline::OutsideFigure;

use super::allocator;
use super::cgroup::Cgroup;
use super::gpu::Gpu;
use super::reading::Readings;
use super::status::{self, Statm};
use crate::sys;

/// The probes that take longer than one read of a file are read once in so many ticks ...
const SLOW_TICKS: u64 = 10;
/// ... and take at most one part in this of the time.
const SLOW_SHARE: u64 = 1_000;

/// The opened probes.
#[derive(Debug)]
pub struct Probes {
    statm: Statm,
    cgroup: Cgroup,
    gpu: Gpu,
    next_slow_ns: u64,
}

impl Probes {
    /// Opens the probes that this machine has.
    pub fn open() -> Self {
        Probes { statm: Statm::open(), cgroup: Cgroup::find(), gpu: Gpu::open(), next_slow_ns: 0 }
    }

    /// Reads the resident set on every tick, and the slower probes on some. The resident set is the first reading.
    pub fn read(&mut self, tick: u64) -> Readings {
        let mut readings = vec![("rss".into(), self.statm.rss())];
        let began = sys::now_ns();
        if tick.is_multiple_of(SLOW_TICKS) && began >= self.next_slow_ns {
            readings.extend(allocator::read());
            readings.extend(self.cgroup.read());
            readings.extend(self.gpu.read());
            self.next_slow_ns = began + SLOW_SHARE * sys::now_ns().saturating_sub(began);
        }
        readings
    }

    /// The probes' figures for the whole run. `rss_at_peak` is the reading (in bytes) nearest to the peak of the live
    /// bytes.
    pub fn figures(&mut self, rss_at_peak: Option<u64>) -> Vec<OutsideFigure> {
        vec![status::figure(rss_at_peak), self.cgroup.figure(), self.gpu.figure()]
    }
}
