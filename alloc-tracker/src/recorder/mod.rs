//! The recorder: reads the events in order, keeps who owns what now and at the peaks, looks at the probes on every
//! tick, and writes what it saw.
//!
//! ```text
//! event ring -> state.rs (one reader at a time) -> replay.rs (blocks, accounts, peaks) -> extract.rs (rows)
//!                                                    | known.rs, growth.rs ------------> analysis.rs (what became of them)
//!                                                    | sites.rs (samples, by stack) ---> symbols.rs (names, at the end)
//!                                                                                            |
//! probes ------------------------------------------> thread.rs (ticks) -> Records -> output.rs (log, timeline)
//!                                                       | watch.rs (thresholds, before a peak) -> thread/dump.rs
//!                                 books.rs (near the peak), aside.rs (what takes too long to do between two ticks)
//! ```
mod account;
mod analysis;
mod aside;
mod books;
mod extract;
mod group;
mod growth;
mod known;
mod lifetime;
pub(crate) mod output;
mod ownership;
mod replay;
mod sites;
pub(crate) mod state;
mod symbols;
#[cfg(test)]
mod tests;
pub(crate) mod thread;
pub(crate) mod watch;

pub(crate) use state::{drain, help};
