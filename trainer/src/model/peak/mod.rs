//! The peak of a training step, predicted from shapes alone: all tensors that are live at each instant, through forward
//! pass, loss, backward pass and optimizer.
//!
//! The walk frees what the trainer and libtorch free, in their order:
//! - forward: a map goes after the last stage that reads it, unless a node of the graph keeps it;
//! - backward: the engine runs the node that was made last first (`torch/csrc/autograd/engine.cpp`: nodes are queued by
//!   sequence number). A node makes the gradients of what it read while the gradient that reached it and the maps that
//!   it keeps are still there; then both go (`release_variables`). A map that two stages read gets two gradients, which
//!   are added in place where the first can be written over (`input_buffer.cpp`: `can_accumulate_inplace`);
//! - a parameter's gradient stays (`accumulate_grad.h` takes it over without a copy);
//! - the optimizer's state is there, as from the second step on, and its temporaries come one parameter at a time.
//!
//! ```text
//! network: forward, loss, backward, update of one network -> walk, adversaries (DCGAN), q_learning (DQN) -> step -> measured
//! ```
//!
//! A stage is one node here. That is so of all but recurrent layers, which libtorch may run as many operators (`aten::gru`): of
//! them the walk is an estimate. `tests/tests/end_to_end/planned_peak.rs` holds the others against runs, to the byte.
//!
//! What is not modelled: the workspace inside of an operator (oneDNN's reordered copies and scratch memory, sums that batch
//! norm makes, the loader's temporaries), libtorch's and the program's small blocks, and what the process held before `main`.
//! So this is no upper bound. `measured` puts it beside a run and says which operator makes the difference.
mod layers;
mod live;

mod network;

mod adversaries;
mod q_learning;
mod walk;

mod step;

pub mod measured;

pub use self::live::Instant;
pub use self::step::Step;
