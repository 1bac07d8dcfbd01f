//! The gate for CI: whether anything at the peak grew beyond a limit, and whether two runs can be compared at all.
mod limit;
mod same_work;

mod gate;

pub use gate::{GateResult, NameChange, gate};
pub use limit::Limit;
pub use same_work::{WorkMismatch, work_mismatches};
