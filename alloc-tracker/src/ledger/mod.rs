//! The ledger: how many blocks and bytes each scope has allocated and freed.
//!
//! ```text
//! door -> lane (two words a thread) -> counters (by scope, a thread) -> publish --recording--> event ring -> recorder
//!                                                                          \------otherwise--> totals
//! ```
//!
//! Invariant: for every scope, the totals, the events in the ring and the counts that threads have not published yet
//! add up to what the program has really allocated and freed. (The recorder adds to the totals what it reads from the
//! ring.) The unpublished counts of one thread change the live bytes of all scopes together by at most [`SLACK`] bytes.
pub mod tables;
pub mod totals;

mod counters;
mod entry;
mod lane;
mod own_word;
mod pool;
pub mod publish;
mod scope_stack;
mod slot;
pub mod stopwatch;
mod thread;
mod thread_lane;
#[cfg(feature = "stacks")]
mod thread_number;
mod thread_word;
mod unpublished;

pub use lane::Lane;
pub use pool::{live_slots, most_threads, resized};
pub use scope_stack::Entered;
pub use slot::{SLACK, Slot, add, emit};
#[cfg(feature = "stacks")]
pub use thread::opens_lanes;
pub use thread::{
    acquire, as_tracker, as_tracker_thread, empty_lane, forked, gather_frees_of, is_tracker, main_begins, nobody,
    publish_own, scope_without_slot,
};
pub use thread_lane::lane;
