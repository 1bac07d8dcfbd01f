//! The ledger: how many blocks and bytes each scope has allocated and freed.
//!
//! ```text
//! door -> thread's own counters (lane.rs, slot.rs) --batches--> publish.rs --recording--> event ring -> recorder
//!                                                                     \-----otherwise---> totals.rs
//! ```
//!
//! Invariant: for every scope, totals + what is in the ring + what stands in the slots is what the program has really
//! allocated and freed; the recorder adds to the totals what it reads from the ring. What a slot holds never
//! leaves ±[`slot::SLACK`] bytes, so that the total the recorder sees is wrong by at most that much per thread.
pub(crate) mod entry;
pub(crate) mod lane;
pub(crate) mod pool;
pub(crate) mod publish;
pub(crate) mod slot;
pub(crate) mod totals;
