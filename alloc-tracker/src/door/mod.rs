//! The doors: where an allocation enters the tracker.
//!
//! ```text
//! Vec, Box --GlobalAlloc--> rust.rs --\
//!                                      hot.rs (small blocks, a thread with a slot) -> backend.rs -> jemalloc
//! malloc, free, ... ------> c.rs -----/   \--> cold.rs (everything else), resize.rs (realloc)
//! ```
//!
//! Both doors call the backend directly, so that no block is counted twice. Nothing here locks, unwinds or prints, and
//! nothing allocates but the backend. A free is counted before the block goes back, and a realloc's old tag is taken
//! before the block may move: after that its address can belong to another thread.
pub(crate) mod backend;
pub mod c;
pub(crate) mod cold;
pub(crate) mod hot;
pub(crate) mod label;
pub(crate) mod resize;
pub(crate) mod rust;
