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

use std::borrow::Cow;

use alloc_timeline::Lane;

use crate::sys;

pub(crate) use allocator::allocator;

/// What probes read, by name, in bytes.
pub(crate) type Probed = Vec<(Cow<'static, str>, Option<u64>)>;

/// Probes slower than a file read are read every so many ticks ...
const SLOW_TICKS: u64 = 10;
/// ... but for no more than 1 part in this of the time.
const SLOW_SHARE: u64 = 1_000;

/// The probes of one recording, opened once.
#[derive(Debug)]
pub(crate) struct Probes {
    status: status::Status,
    cgroup: cgroup::Cgroup,
    gpu: gpu::Gpu,
    next_slow_ns: u64,
}

impl Probes {
    /// Opens what there is.
    pub fn open() -> Self {
        Probes {
            status: status::Status::open(),
            cgroup: cgroup::Cgroup::find(),
            gpu: gpu::Gpu::open(),
            next_slow_ns: 0,
        }
    }

    /// One reading of each; of the slow ones only now and then.
    pub fn read(&mut self, tick: u64) -> Probed {
        let mut readings = vec![("rss".into(), self.status.rss())];
        let began = sys::now_ns();
        if tick.is_multiple_of(SLOW_TICKS) && began >= self.next_slow_ns {
            readings.extend(allocator::read());
            readings.extend(self.cgroup.read());
            readings.extend(self.gpu.read());
            self.next_slow_ns = began + SLOW_SHARE * sys::now_ns().saturating_sub(began);
        }
        readings
    }

    /// What the probes say of the whole run. `rss_at_peak` is the reading nearest to the peak of the live bytes.
    pub fn lanes(&mut self, rss_at_peak: Option<u64>) -> Vec<Lane> {
        vec![self.status.lane(rss_at_peak), self.cgroup.lane(), self.gpu.lane()]
    }
}
