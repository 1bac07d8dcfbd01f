//! Probes: figures about the process from the kernel, the allocator and the GPU's driver. A figure that cannot be read
//! is absent; that is never an error.
//!
//! - [`spent`]: what reading the probes has cost, and whether another reading fits;
//! - [`status`]: resident set, from /proc/self/statm and status;
//! - [`mod@allocator`]: the allocator under the tracker, by [`jemalloc`]'s statistics or [`glibc`]'s;
//! - [`mod@cgroup`]: the control group's memory; [`limits`]: what the process may still take;
//! - [`device`]: what is used of each GPU's memory, through NVML, and the account of it, line by line;
//! - [`gpu_sensors`]: how busy the GPUs are, and their power; [`device_probes`]: who asks all of them;
//! - [`utilisation`]: processor time, page faults and context switches;
//! - [`all`]: the probes above together, read on the recorder's ticks;
//! - [`smaps`], [`page_scan`], [`resident`], [`mapped`], [`touched`]: which mappings and pages are resident; [`threads`]: whose stack is where;
//! - [`listed`]: where the allocator's mappings are; [`places`]: places in order;
//! - [`counted`]: the ledger's sums; [`claims`]: what an allocator says of itself; [`cost`]: what the tracker keeps
//!   resident;
//! - [`survey`]: resident bytes by kind of mapping; [`book`]: the account of the resident set, line by line,
//!   from [`book_readings`]; [`coarse`]: the same in a few columns, in every sample;
//! - [`beyond`]: the account from the resident set to the group's limit, with [`pss`] and [`neighbours`];
//! - [`children`], [`child_looks`]: the processes that this one has started, with [`pss`];
//! - [`interposition`]: which malloc each loaded object calls; [`mod@machine`]: the machine's properties.
mod reading;
pub mod spent;

pub mod cgroup;
mod claims;
pub mod counted;
mod device;
#[cfg(feature = "gpu")]
mod gpu_sensors;
#[cfg(not(feature = "gpu"))]
#[path = "no_gpu_sensors.rs"]
mod gpu_sensors;
pub mod interposition;
mod machine;
mod parts;
mod pss;
mod smaps;
mod status;
pub mod threads;
mod utilisation;

mod glibc;
mod jemalloc;
mod page_scan;

mod resident;

mod mapped;
mod places;
mod touched;

mod allocator;
pub mod children;
pub mod cost;
mod device_probes;
pub mod limits;
mod named;
mod neighbours;

pub mod survey;

pub mod beyond;
mod listed;

pub mod book_readings;

pub mod book;
pub mod child_looks;
mod coarse;

mod all;

pub use all::Probes;
pub use allocator::allocator;
pub use device::Driver;
pub use machine::machine;
pub use reading::Readings;
