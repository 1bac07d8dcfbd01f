//! Probes: figures about the process from the kernel, the allocator and the GPU's driver. A figure that cannot be read
//! is absent; that is never an error.
//!
//! - [`status`]: resident set, from /proc/self/statm and status;
//! - [`mod@allocator`]: the allocator under the tracker, by [`jemalloc`]'s statistics or [`glibc`]'s;
//! - [`cgroup`]: the control group's memory (version 2);
//! - [`gpu`]: the process's share of the GPU's memory, through NVML;
//! - [`all`]: the probes above together, read on the recorder's ticks;
//! - [`smaps`], [`resident`]: which mappings and pages are resident;
//! - [`cost`]: what the tracker itself keeps resident; [`book`]: the account of the resident set;
//! - [`interposition`]: which malloc each loaded object calls; [`mod@machine`]: the machine's properties.
mod reading;

mod cgroup;
mod glibc;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(not(feature = "gpu"))]
#[path = "no_gpu.rs"]
mod gpu;
pub mod interposition;
mod jemalloc;
mod machine;
mod resident;
mod smaps;
mod status;

mod allocator;
pub mod cost;

mod all;
pub mod book;

pub use all::Probes;
pub use allocator::allocator;
pub use machine::machine;
