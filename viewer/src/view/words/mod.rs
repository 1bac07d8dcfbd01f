//! Names and sentences that the terminal and the page have in common.
// Each group uses only the groups above it.
pub(super) mod account;
pub(super) mod names;
pub(super) mod owners;
mod verdicts;

pub(super) mod trend;

pub(super) mod stacks;

pub(super) mod facts;

pub use trend::growth_paragraph;
pub use verdicts::verdicts;
