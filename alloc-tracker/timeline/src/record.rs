//! What a recorder emits: the parts of a timeline, in the order in which they become known.
//!
//! An [`Assembler`](crate::Assembler) makes a timeline of them. A log has one in each line; see [`log`](crate::log).
use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::analysis::Analysis;
use crate::file::{
    Allocator, Book, ChildProcesses, DeviceMemory, DevicePrediction, Ending, Energy, HighWater, Machine, Mark,
    MarkBook, NearLimit, OutsideFigure, PeakRequested, Resolution, SharedMemory, Snapshot, Step, StepTimes, Totals,
    TrackerCost, Utilisation,
};
use crate::scope::{Category, Scope};
use crate::stacks::Stacks;
use crate::unread::Unread;

/// One part of a timeline, and one line of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Record {
    /// The beginning, and the first line of a log.
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
    /// Which object's allocation function a shared object calls.
    Resolution(Resolution),
    /// A scope that was seen for the first time; numbers count up from 0 without gaps.
    Scope(Scope),
    /// What a layer is, in words; replaces what was said of that layer before. An empty text: it is not known any more.
    LayerKind {
        /// The layer's path.
        layer: String,
        /// What it is.
        kind: String,
    },
    /// The state at one instant, with everything that was live.
    Sample(Sample),
    /// The state at one instant, with only those rows and probes that differ from the sample before. An owner that has
    /// nothing any more has a row of 0 bytes.
    Changes(Sample),
    /// A named instant.
    Mark(Mark),
    /// A finished step.
    Step(Step),
    /// A new peak of the live bytes; replaces the one before.
    Peak(Snapshot),
    /// A new peak of the live bytes, with only those rows that differ from those of the peak before. An owner that has nothing any
    /// more has a row of zeros.
    PeakChanges(Snapshot),
    /// A new peak of the requested bytes; replaces the one before.
    PeakRequested(PeakRequested),
    /// A new book of the resident set; replaces the one before.
    Book(Book),
    /// The book of a mark.
    MarkBook(MarkBook),
    /// The process came near what it may have.
    NearLimit(NearLimit),
    /// The child processes, at a reading at which more memory was taken than before; replaces the one before.
    ChildProcesses(ChildProcesses),
    /// The peaks of phases, layers and operators; replaces those before.
    HighWaters(Vec<HighWater>),
    /// Counts so far; replaces those before.
    Totals(Totals),
    /// What is live now; replaces the one before.
    AtExit(Snapshot),
    /// Figures that others measured; replaces those before.
    #[serde(rename = "lanes")]
    OutsideFigures(Vec<OutsideFigure>),
    /// What the tracker cost so far; replaces the one before.
    Tracker(TrackerCost),
    /// What became of the blocks so far; replaces the one before.
    Analysis(Box<Analysis>),
    /// Which of the bytes at the peak nobody read again so far; replaces the one before.
    Unread(Box<Unread>),
    /// What the tensors so far would have taken on a device; replaces those before.
    DevicePredictions(Vec<DevicePrediction>),
    /// The memory of devices so far; replaces those before.
    Devices(Vec<DeviceMemory>),
    /// Tensors in shared memory so far; replaces the one before.
    SharedMemory(SharedMemory),
    /// Sampled stacks; replaces the one before. The first of a run only says that there will be some, and the last has them.
    Stacks(Box<Stacks>),
    /// What was used of the processors so far; replaces the one before.
    Utilisation(Box<Utilisation>),
    /// How long each scope was active in a finished step.
    StepTimes(Box<StepTimes>),
    /// Energy so far; replaces the one before.
    Energy(Box<Energy>),
    /// The end, and the last line of a log that was ended in order.
    End {
        /// When, since the session began.
        time_ns: u64,
        /// How the recording ended.
        ending: Ending,
    },
}

/// Who owned what at one instant.
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
