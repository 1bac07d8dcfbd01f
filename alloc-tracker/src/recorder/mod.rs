//! The recorder: reads the events in order, keeps who owns what now and at the peaks, looks at the probes on every
//! tick, and writes what it saw.
//!
//! ```text
//! event ring -> state.rs (one reader at a time) -> replay.rs (blocks, accounts, peaks) -> extract.rs (rows)
//!                                                                                            |
//! probes ------------------------------------------> thread.rs (ticks) -> Records -> output.rs (log, timeline)
//!                                                       |
//!                                 books.rs (near the peak), aside.rs (what takes too long to do between two ticks)
//! ```
mod account;
mod aside;
mod books;
mod extract;
pub(crate) mod output;
mod replay;
pub(crate) mod state;
pub(crate) mod thread;

pub(crate) use state::{drain, help};
