//! The memory of devices such as GPUs, for crates that instrument a framework: which devices there are, what their caching
//! allocators say, and their blocks as they come and go.
//!
//! ```text
//! framework's face -> told.rs      each block allocated and freed --> event ring
//!                 \-> registry.rs  devices by number, their totals by the last event   --> probe, on its ticks
//!                 \-> owners.rs    the scope of each block, by address               --> labels, layers of operators
//!                  -> stats.rs     a function that asks the allocator                   --> probe, on its slow ticks
//! ```
mod owners;
mod registry;

mod stats;
mod told;

pub use registry::{Device, DeviceTotals, device, devices, in_use, totals};
pub use stats::{DeviceStats, DeviceStatsFunction, Figure, device_stats, provide_device_stats};
pub use told::{allocated, freed, out_of_memory, unwatched};
pub(crate) use told::{label, owner};

/// The addresses that the tables occupy.
pub(crate) use owners::range;
