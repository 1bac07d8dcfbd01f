//! The gate for CI: did anything at the peak grow beyond what is allowed, and may the two runs be compared at all?
mod comparable;
mod gate;
mod limit;

pub use comparable::{Mismatch, comparable};
pub use gate::{Gate, Move, gate};
pub use limit::Limit;
