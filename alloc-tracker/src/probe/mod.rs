//! Probes: what others than the tracker say of the process. Each is data or its absence, never an error.
//!
//! - [`status`]: resident set, from /proc/self/statm and status;
//! - [`allocator`]: the allocator under the tracker, by [`jemalloc`]'s statistics or [`glibc`]'s;
//! - [`cgroup`]: the control group's memory (version 2);
//! - [`gpu`]: the process's share of the GPU's memory, through NVML;
//! - [`smaps`], [`resident`]: which mappings and pages are resident, for the [`book`] and the [`cost`];
//! - [`interposition`]: whose malloc each loaded object calls; [`machine`]: where this runs.
mod allocator;
pub(crate) mod book;
mod cgroup;
pub(crate) mod cost;
mod glibc;
mod gpu;
pub(crate) mod interposition;
mod jemalloc;
pub(crate) mod machine;
mod resident;
mod smaps;
mod status;

use alloc_timeline::Lane;

pub(crate) use allocator::allocator;

/// Probes slower than a file read are read every so many ticks.
const SLOW_TICKS: u64 = 10;

/// The probes of one recording, opened once.
#[derive(Debug)]
pub(crate) struct Probes {
    status: status::Status,
    cgroup: cgroup::Cgroup,
    gpu: gpu::Gpu,
    slow: Vec<(String, Option<u64>)>,
}

impl Probes {
    /// Opens what there is.
    pub fn open() -> Self {
        Probes {
            status: status::Status::open(),
            cgroup: cgroup::Cgroup::find(),
            gpu: gpu::Gpu::open(),
            slow: Vec::new(),
        }
    }

    /// One reading of each; slow ones give their latest.
    pub fn read(&mut self, tick: u64) -> Vec<(String, Option<u64>)> {
        if tick.is_multiple_of(SLOW_TICKS) {
            self.slow = allocator::read();
            self.slow.extend(self.cgroup.read());
            self.slow.extend(self.gpu.read());
        }
        let mut readings = vec![("rss".to_owned(), self.status.rss())];
        readings.extend(self.slow.iter().cloned());
        readings
    }

    /// What the probes say of the whole run. `rss_at_peak` is the reading nearest to the peak of the live bytes.
    pub fn lanes(&mut self, rss_at_peak: Option<u64>) -> Vec<Lane> {
        vec![self.status.lane(rss_at_peak), self.cgroup.lane(), self.gpu.lane()]
    }
}
