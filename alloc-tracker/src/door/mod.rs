//! The doors: where allocations enter the tracker.
//!
//! ```text
//! Vec, Box --GlobalAlloc--> rust.rs --\
//!                                      hot.rs (small blocks, open lane) ------------------> jemalloc
//! malloc, free, ... ------> c.rs -----/   \--> cold.rs (everything else), resize.rs (realloc) --> backend
//! Vec, Box --GlobalAlloc--> over.rs (an allocator of the program's own) --> tagging, counting
//! ```
//!
//! `hot.rs` has the hot path's allocations, `hot_free.rs` its frees. Below the doors, `tagged.rs` writes and finds tags, `count.rs` counts what is allocated and freed, `sampled.rs` and
//! `room.rs` treat blocks whose calls are recorded, and `label.rs` answers questions about blocks and attaches labels to
//! them. All doors call the backend directly, so that no block is counted twice. Nothing here locks, unwinds or prints,
//! and only the backend allocates. A free is counted before the block goes back to the backend, and a block's tag is
//! cleared before a realloc may move the block: after that, its old address may belong to a block of another thread.
pub mod c;
mod cold;
mod count;
mod hot;
mod hot_free;
pub mod label;
mod over;
mod resize;
mod room;
mod rust;
mod sampled;
mod tagged;

pub use over::Over;
pub use rust::Tracker;
