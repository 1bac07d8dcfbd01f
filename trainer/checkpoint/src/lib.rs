//! Checkpointing: which maps of a network a training step keeps, and which it computes again in its backward pass. All of it
//! is arithmetic over what the stages cost; nothing is run here.
//!
//! ```text
//! chain        what each stage takes, in bytes and nanoseconds
//! schedule     the operations of a step, in order
//! drawing      a schedule as text
//! simulate     a schedule over a chain -> its peak and its time, or why it cannot be run
//! whole        nothing is computed again
//! sequential   as `torch.utils.checkpoint.checkpoint_sequential` does: equal segments
//! revolve      as many maps as there are slots, all stages being taken as equal
//! persistent   the fastest schedule in a budget of bytes, each stage with its own costs
//! plan         what a user asks for -> one of these
//! ```
//!
//! ```
//! use trainer_checkpoint::{Chain, Plan, Stage, plan};
//!
//! // Four stages and a loss. Each saves 10 bytes and leaves a map of 2, which its graph holds as well.
//! let stage = Stage {
//!     output_bytes: 2,
//!     saved_bytes: 12,
//!     saved_and_output_bytes: 12,
//!     forward_peak_bytes: 2,
//!     saving_peak_bytes: 12,
//!     backward_peak_bytes: 2,
//!     forward_ns: 1,
//!     backward_ns: 2,
//!     ..Stage::default()
//! };
//! let loss = Stage { forward_ns: 1, backward_ns: 2, ..Stage::default() };
//! let chain = Chain { fixed_bytes: 100, update_peak_bytes: 0, stages: vec![stage.clone(), stage.clone(), stage.clone(), stage, loss] };
//!
//! let whole = plan(&chain, Plan::None).expect("always possible");
//! assert_eq!((whole.simulated.peak_bytes, whole.simulated.ns), (100 + 4 * 12 + 2 + 2, 5 * 3));
//! let halves = plan(&chain, Plan::Sequential(2)).expect("four stages have two segments");
//! assert_eq!(halves.simulated.recompute_ns, 2, "the first segment is computed twice");
//! let small = plan(&chain, Plan::Bytes(130)).expect("30 bytes are enough for this");
//! assert!(small.simulated.peak_bytes <= 130);
//! ```
#![forbid(unsafe_code)]

mod chain;
mod schedule;

mod drawing;
mod simulate;
mod whole;

mod persistent;
mod revolve;
mod sequential;

mod plan;

pub use chain::{Chain, Stage};
pub use drawing::draw;
pub use persistent::Persistent;
pub use plan::{NoPlan, Plan, Planned, best_sequential, fastest_within, plan};
pub use revolve::{forward_steps, revolve};
pub use schedule::{Keep, Operation, Schedule};
pub use sequential::sequential;
pub use simulate::{Invalid, Simulated, simulate};
pub use whole::whole;
