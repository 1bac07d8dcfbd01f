//! The log on its way to being a file: what a recorder says, in the order in which it says it.
//!
//! On disk a log is one JSON object a line. A line that the end of the process cut short is not an error: what
//! stands before it counts.
use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::analysis::Analysis;
use crate::file::{
    Allocator, Book, Ending, HighWater, Lane, Machine, Mark, PeakRequested, Resolution, Snapshot, Step, Totals,
    TrackerCost,
};
use crate::scope::{Category, Scope};
use crate::stacks::Stacks;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// First line of a log.
    Start {
        /// The timeline's format version.
        format_version: u32,
        /// See [`crate::Timeline::run`].
        run: BTreeMap<String, Value>,
        /// See [`crate::Timeline::machine`].
        machine: Machine,
        /// See [`crate::Timeline::allocator`].
        allocator: Allocator,
        /// See [`crate::Series::interval_ns`].
        interval_ns: u64,
    },
    /// One more fact about the run.
    Run(String, Value),
    /// Whose malloc a shared object calls.
    Resolution(Resolution),
    /// A scope that was seen for the first time; numbers count up from 0 without gaps.
    Scope(Scope),
    /// The state at one tick.
    Sample(Sample),
    /// The same, but of its rows and probes only those that are different from the sample before; what is gone has 0 bytes.
    Changes(Sample),
    /// A named instant.
    Mark(Mark),
    /// A finished step.
    Step(Step),
    /// A new global peak; replaces the one before.
    Peak(Snapshot),
    /// A new peak of the requested bytes; replaces the one before.
    PeakRequested(PeakRequested),
    /// A new account of the resident set; replaces the one before.
    Book(Book),
    /// The own peaks; replaces those before.
    HighWaters(Vec<HighWater>),
    /// Counts so far; replaces those before.
    Totals(Totals),
    /// What is live now; replaces the one before.
    AtExit(Snapshot),
    /// Figures from outside; replaces those before.
    Lanes(Vec<Lane>),
    /// What the tracker cost so far; replaces the one before.
    Tracker(TrackerCost),
    /// What became of the blocks so far; replaces the one before.
    Analysis(Box<Analysis>),
    /// Who allocates, by stack; replaces the one before. The first says that there will be stacks, the last has them.
    Stacks(Box<Stacks>),
    /// Last line of a log that was ended in order.
    End {
        /// When.
        time_ns: u64,
        /// How.
        ending: Ending,
    },
}

/// Who owned what at one tick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When, since the session began.
    pub time_ns: u64,
    /// Usable bytes not yet freed.
    pub live_bytes: u64,
    /// The same in requested bytes.
    pub requested_bytes: u64,
    /// The most live bytes since the sample before.
    pub high_bytes: u64,
    /// Usable bytes by scope number and category; the sum is `live_bytes`.
    pub rows: Vec<(u32, Category, u64)>,
    /// What the probes read.
    pub probes: Vec<(Cow<'static, str>, Option<u64>)>,
}
