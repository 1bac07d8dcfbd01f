//! Settings from the environment. The first four variables decide how the process is tracked: they are read once, at
//! the process's first allocation, without allocating, and hold for the process's whole life.
//!
//! | variable | read by |
//! |---|---|
//! | `ALLOC_TRACKER` | [`mode`] |
//! | `ALLOC_TRACKER_BACKEND` | [`wants_system_backend`] |
//! | `ALLOC_TRACKER_STACKS` | [`sampling`] |
//! | `ALLOC_TRACKER_CACHE` | [`wants_calls`] |
//! | `ALLOC_TRACKER_DUMP_AT` | [`dump_thresholds`], when a session starts |
//! | `ALLOC_TRACKER_NEAR_LIMIT` | [`least_room`], when a session starts |
//! | `ALLOC_TRACKER_TIMES`, `ALLOC_TRACKER_POWER_FILE` | [`times`], when a session starts |
//! | `ALLOC_TRACKER_GPU_INPUTS` | [`gpu_inputs`], when a session ends |
//! | `ALLOC_TRACKER_CONTROL` | [`control_folder`], when a session starts |
//! | `PYTORCH_ALLOC_CONF` | [`device_allocator`], when a session starts |
mod control;
mod device;
mod environment;
mod gpu_inputs;
mod mode;
mod near_limit;
pub mod sampling;
mod thresholds;
pub mod times;

pub use control::control_folder;
pub use device::device_allocator;
pub use environment::{wants_calls, wants_system_backend};
pub use gpu_inputs::gpu_inputs;
pub use mode::{Mode, exact, mode};
pub use near_limit::{LeastRoom, least_room};
pub use thresholds::dump_thresholds;
