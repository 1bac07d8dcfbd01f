//! Checkpointing on real networks: a network as a chain of parts, what each of them costs, a plan over these costs, and a
//! training step that runs by it. The plans themselves are the crate `trainer-checkpoint`.
//!
//! ```text
//! asked         what was typed: sequential:4
//! cut           a network's stages -> parts that read one map each
//! root          a backward pass that starts in the middle of a network
//! generator     the state of libtorch's random generator
//! execute       parts + a schedule -> the gradients of a step
//! measure       parts, run one by one -> what each costs
//! prepared      all that, put together: what a run needs, and what it says of its plan
//! alternatives  all plans of a network, side by side
//! ```
mod asked;
mod cut;

mod root;

mod generator;

mod execute;

mod measure;

mod prepared;

mod alternatives;

pub use self::alternatives::alternatives;
pub use self::asked::Asked;
pub use self::execute::{Moment, step};
pub use self::measure::Case;
pub use self::prepared::{Kept, Prepared, prepare};

#[cfg(test)]
mod tests;
