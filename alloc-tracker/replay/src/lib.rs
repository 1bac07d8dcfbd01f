//! Replays a recording: events in, records of a timeline out.
//!
//! An [`Event`] says what happened in a program: a block was allocated, freed, resized or labelled; a step began. A
//! [`Replay`] takes them in, one by one, and knows at any moment which scope owns how much in which category, now and at
//! the peaks, what became of the blocks, and what grows from step to step. What it knows it gives as [`alloc_timeline`]'s
//! types.
//!
//! Nothing here needs an allocator, a clock or a thread. The tracker feeds a replay while a program runs; a planner, a
//! simulator or a test can feed it events that were made up:
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use alloc_replay::{BlockSize, Event, NameTable, Replay, ScopeNames};
//! use alloc_timeline::Category;
//!
//! let mut names = NameTable::new();
//! let conv1 = names.intern("forward", "conv1", "");
//! let conv2 = names.intern("forward", "conv2", "");
//! let mut replay = Replay::new(0, names);
//!
//! let category = Some(Category::Activation);
//! let size = |bytes| BlockSize { usable: bytes, requested: bytes };
//! let events = [
//!     Event::Allocated { scope: conv1, address: 0x1000, size: size(600), op_call: 0, category },
//!     Event::Allocated { scope: conv2, address: 0x2000, size: size(400), op_call: 0, category },
//!     Event::Freed { scope: conv1, address: 0x1000, size: size(600), op_call: 0, freed_in: None },
//!     Event::Allocated { scope: conv2, address: 0x3000, size: size(100), op_call: 0, category },
//!     Event::Labelled { scope: conv2, address: 0x2000, category: Category::Parameter },
//! ];
//! for (number, event) in (1..).zip(&events) {
//!     // The numbers give the order; here one event happens every microsecond.
//!     replay.apply(number, 1_000 * number, event, |_scope, _counts| ());
//! }
//!
//! let peak = replay.snapshot_peak(0);
//! assert_eq!((peak.live_bytes, peak.time_ns), (1_000, 2_000));
//! let mut by_layer: BTreeMap<String, u64> = BTreeMap::new();
//! for row in &peak.rows {
//!     *by_layer.entry(replay.names().describe(row.scope as u16).layer).or_default() += row.usable_bytes;
//! }
//! for (layer, bytes) in &by_layer {
//!     println!("{layer}: {bytes} bytes at the peak");
//! }
//! assert_eq!(by_layer, BTreeMap::from([("conv1".to_owned(), 600), ("conv2".to_owned(), 400)]));
//! // The label came later; it counts at the peak all the same.
//! assert_eq!(peak.rows.last().map(|row| row.category), Some(Category::Parameter));
//! ```
//!
//! # The way of an event
//!
//! ```text
//! Event -> Replay --> blocks: the followed ones, by address ---> flows, histograms
//!                 |     |--> reads: who reads them, and what of the peak nobody read again
//!                 |     v
//!                 +-> owners: accounts (a scope in a category) -> groups (a phase, a layer, ...) -> peaks
//!                 +-> sites (samples, by stack and thread)    steps, growth
//!                                                    |
//!                              records <- report <---+   when somebody asks
//! ```
#![forbid(unsafe_code)]

// Numbers for names; what an event says.
mod counts;
mod scope;

mod event;
mod names;
mod new_blocks;

// What PyTorch's allocator would reserve on a device.
pub mod caching_allocator;

mod devices;

// Amounts that know what they were at the peaks, and the peaks.
mod amount;
mod high_water;
mod peaks;

// The blocks of devices, as their caching allocators tell of them.
mod device_blocks;

// Who owns what: accounts, and the groups that sum them up.
mod group;
mod groups;

mod accounts;
mod owners;

// What became of the blocks that are followed one by one.
mod flows;
mod histograms;

// When storages were read, and the peak that prompt frees would have left.
mod prompt;

mod reads;

mod followed;

mod blocks;

// What is live at the end of each step; who allocates, by stack and by thread.
mod growth;
mod steps;

mod site_table;

mod sampled;

mod sampled_threads;
mod site;

mod sites;

// From the parts to records; from events to the parts.
mod records;
mod replay;
mod report;

pub use counts::{BlockSize, Counts};
pub use event::{DeviceTotals, Event, READ_AT_ONCE, ThreadName};
pub use growth::{GrowthColumn, GrowthTable};
pub use names::NameTable;
pub use new_blocks::NewBlocks;
pub use peaks::Extremes;
pub use records::session_times::with_session_times;
pub use records::totals::totals;
pub use replay::Replay;
pub use report::SessionPeak;
pub use scope::{
    NOBODY, NameId, OTHER_NAME, OTHER_SCOPES, Parts, RESERVED_NAMES, RUNTIME, ScopeId, ScopeNames, TRACKER,
};
pub use site_table::{SiteRow, SiteTable, ThreadRow, ThreadTable};

#[cfg(test)]
mod tests;
