//! Settings from the environment. The first three variables decide how the process is tracked: they are read once, at
//! the process's first allocation, without allocating, and hold for the process's whole life.
//!
//! | variable | read by |
//! |---|---|
//! | `ALLOC_TRACKER` | [`mode`] |
//! | `ALLOC_TRACKER_BACKEND` | [`wants_system_backend`] |
//! | `ALLOC_TRACKER_STACKS` | [`sampling`] |
//! | `ALLOC_TRACKER_DUMP_AT` | [`dump_thresholds`], when a session starts |
mod environment;
mod mode;
pub mod sampling;
mod thresholds;

pub use environment::wants_system_backend;
pub use mode::{Mode, exact, mode};
pub use thresholds::dump_thresholds;
