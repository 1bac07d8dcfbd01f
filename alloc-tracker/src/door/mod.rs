//! The doors: where an allocation enters the tracker.
//!
//! ```text
//! Vec, Box --GlobalAlloc--> rust.rs --\
//!                                      hot.rs (small blocks, a thread with a slot) ---------------> jemalloc.rs
//! malloc, free, ... ------> c.rs -----/   \--> cold.rs (everything else), resize.rs (realloc) \     /
//!                                              |                                              backend.rs
//! Vec, Box --GlobalAlloc--> over.rs (an allocator of the program's own) ----------                    \
//!                                                                                                  system.rs
//! ```
//!
//! Both doors call the backend directly, so that no block is counted twice. Nothing here locks, unwinds or prints, and
//! nothing allocates but the backend. A free is counted before the block goes back, and a realloc's old tag is taken
//! before the block may move: after that its address can belong to another thread.
pub(crate) mod backend;
pub mod c;
pub(crate) mod cold;
pub(crate) mod hot;
pub(crate) mod jemalloc;
pub(crate) mod label;
pub(crate) mod over;
pub(crate) mod resize;
pub(crate) mod rust;
mod system;
