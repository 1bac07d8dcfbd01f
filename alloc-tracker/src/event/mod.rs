//! Events on their way from all threads to the recorder, in one order.
//!
//! What an event says is an [`Event`](alloc_replay::Event); [`raw`] turns it into the words that stand in the [`ring`].
pub mod raw;
pub mod ring;
