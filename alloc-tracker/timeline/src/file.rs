//! The document itself, field by field as it stands in `timeline.json`.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::analysis::Analysis;
use crate::scope::{Category, Dimension, Row, Scope, split_by};
use crate::stacks::Stacks;

/// The value of [`Timeline::format`].
pub const FORMAT_NAME: &str = "alloc-timeline";
/// The version that this crate writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// One run, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Always [`FORMAT_NAME`].
    pub format: String,
    /// See [`FORMAT_VERSION`].
    pub format_version: u32,
    /// How the recording ended.
    pub ending: Ending,
    /// Length of the session.
    pub duration_ns: u64,
    /// Whatever the program said of itself: `model`, `mode`, `batch`, ... ; `command`, `pid` and `started_unix_ns` always.
    pub run: BTreeMap<String, Value>,
    /// Where it ran.
    pub machine: Machine,
    /// Which allocator answered, and how it was set.
    pub allocator: Allocator,
    /// For each shared object that calls malloc: whose malloc it calls.
    pub interposition: Vec<Resolution>,
    /// All scopes; a scope's number is its index here. Number 0 is the scope of nothing.
    pub scopes: Vec<Scope>,
    /// The course of the run.
    pub series: Series,
    /// Named instants, in order.
    pub marks: Vec<Mark>,
    /// Spans between two step marks, each with its own peak.
    pub steps: Vec<Step>,
    /// The instant at which the most bytes were live.
    pub peak: Snapshot,
    /// The instant at which the most requested bytes were live, which need not be that of `peak`; absent in files of before
    /// it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_requested: Option<PeakRequested>,
    /// The own peak of every phase, layer and operator, whenever that was.
    pub high_waters: Vec<HighWater>,
    /// Counts over the whole run.
    pub totals: Totals,
    /// What was still live when the session ended.
    pub at_exit: AtExit,
    /// The account of the resident set near the peak; absent when /proc could not be read.
    pub book: Option<Book>,
    /// Measured by others than the tracker, over the whole run.
    pub lanes: Vec<Lane>,
    /// What the tracker itself cost, and what it missed.
    pub tracker: TrackerCost,
    /// What became of the blocks; absent in files of recorders that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
    /// Who allocates, by stack; absent when nobody asked for stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks: Option<Stacks>,
}

/// How the recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// `Session::finish` was called, or the session was dropped.
    Finished,
    /// The process called `exit` with the session open.
    Exit,
    /// A panic unwound through the session.
    Panic,
    /// The user asked for the end (Ctrl-C).
    Interrupted,
    /// The file was put together from the log of a process that did not get to write it.
    Recovered,
    /// It did not: this is a copy of what was recorded so far, written while the process went on.
    Dumped,
}

/// The machine of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `linux`, ...
    pub os: String,
    /// `x86_64`, `aarch64`, ...
    pub arch: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor name as the kernel gives it.
    pub cpu: String,
    /// Processors that this process may use.
    pub cpus: u32,
    /// Bytes of a memory page.
    pub page_bytes: u64,
    /// Physical memory of the machine.
    pub memory_bytes: u64,
}

/// The two ways into the tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// Rust's `#[global_allocator]`.
    Rust,
    /// The C malloc family.
    C,
}

/// The allocator under the tracker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocator {
    /// `jemalloc`, `system`, ...
    pub backend: String,
    /// Its version.
    pub version: String,
    /// Its settings, as they were in force.
    pub config: BTreeMap<String, String>,
    /// Which doors were seen in use.
    pub doors: Vec<Door>,
}

/// Whose allocator a shared object calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// Path of the shared object that calls.
    pub object: String,
    /// `malloc`, `posix_memalign`, ...
    pub symbol: String,
    /// Path of the object whose function it reaches.
    pub resolved_in: String,
    /// Whether that function is the tracker's.
    pub tracked: bool,
}

/// The course of the run, one entry a sample in every column. An entry stands for the instant `time_ns`; where
/// samples were merged to keep the file small, the one with the most live bytes stands for its neighbours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Distance of two samples before any merging.
    pub interval_ns: u64,
    /// When, since the session began.
    pub time_ns: Vec<u64>,
    /// Usable bytes not yet freed.
    pub live_bytes: Vec<u64>,
    /// The same in requested bytes.
    pub requested_bytes: Vec<u64>,
    /// The most live bytes between the previous sample and this one: never below `live_bytes`.
    pub high_bytes: Vec<u64>,
    /// Live bytes by phase, layer, op and category: name -> column.
    pub by_phase: BTreeMap<String, Vec<u64>>,
    /// See `by_phase`.
    pub by_layer: BTreeMap<String, Vec<u64>>,
    /// See `by_phase`.
    pub by_op: BTreeMap<String, Vec<u64>>,
    /// See `by_phase`.
    pub by_category: BTreeMap<String, Vec<u64>>,
    /// What the probes read, by probe: `rss`, `jemalloc_resident`, `cgroup_current`, `gpu_process`, ... A probe that
    /// does not exist on the machine has no column; a reading that failed is null.
    pub probes: BTreeMap<String, Vec<Option<u64>>>,
}

impl Series {
    /// The columns of one dimension.
    pub fn by(&self, dimension: Dimension) -> &BTreeMap<String, Vec<u64>> {
        match dimension {
            Dimension::Phase => &self.by_phase,
            Dimension::Layer => &self.by_layer,
            Dimension::Op => &self.by_op,
            Dimension::Category => &self.by_category,
        }
    }

    /// The columns of one dimension, to be changed.
    pub fn by_mut(&mut self, dimension: Dimension) -> &mut BTreeMap<String, Vec<u64>> {
        match dimension {
            Dimension::Phase => &mut self.by_phase,
            Dimension::Layer => &mut self.by_layer,
            Dimension::Op => &mut self.by_op,
            Dimension::Category => &mut self.by_category,
        }
    }
}

/// Who owned what at one instant. The rows' usable bytes sum to `live_bytes`, their requested bytes to
/// `requested_bytes`, exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When, since the session began.
    pub time_ns: u64,
    /// Usable bytes not yet freed.
    pub live_bytes: u64,
    /// The same in requested bytes.
    pub requested_bytes: u64,
    /// The true value of `live_bytes` may differ from the one given by at most this much.
    pub slack_bytes: u64,
    /// One row per scope and category that held anything.
    pub rows: Vec<Row>,
}

impl Snapshot {
    /// Usable bytes by one dimension; the values sum to `live_bytes`.
    pub fn by(&self, scopes: &[Scope], dimension: Dimension) -> BTreeMap<String, u64> {
        split_by(&self.rows, scopes, dimension, |row| row.usable_bytes)
    }

    /// Bytes of blocks that no scope owned: neither a phase nor a layer nor an op was active, and they are
    /// not the start-up of the shared libraries either.
    pub fn unattributed_bytes(&self, scopes: &[Scope]) -> u64 {
        let unowned = |row: &&Row| {
            let scope = scopes.get(row.scope as usize);
            scope.is_none_or(|s| s.phase.is_empty() && s.layer.is_empty() && s.op.is_empty())
                && row.category != Category::Runtime
        };
        self.rows.iter().filter(unowned).map(|row| row.usable_bytes).sum()
    }
}

/// The most requested bytes that were live at once. Of equal ones the latest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakRequested {
    /// When, since the session began.
    pub time_ns: u64,
    /// Requested bytes not yet freed.
    pub bytes: u64,
    /// How many blocks those were.
    pub blocks: u64,
}

/// A named instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// When, since the session began.
    pub time_ns: u64,
    /// What the program called it.
    pub name: String,
    /// Usable bytes then live.
    pub live_bytes: u64,
    /// Who owned them, when the program asked for the table. Kept for the latest marks of each name.
    pub snapshot: Option<Snapshot>,
}

/// One training or inference step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Counted from 1.
    pub index: u64,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// When the most bytes were live in it.
    pub peak_ns: u64,
    /// How many those were.
    pub live_bytes: u64,
    /// Their split; sums to `live_bytes`.
    pub by_category: BTreeMap<String, u64>,
    /// Live bytes when the step ended.
    pub end_live_bytes: u64,
    /// `live_bytes` in requested bytes; absent in files of recorders that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_bytes: Option<u64>,
    /// The same for `end_live_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_requested_bytes: Option<u64>,
}

/// The own peak of one phase, layer or operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HighWater {
    /// Phase, layer or op.
    pub dimension: Dimension,
    /// Its name.
    pub name: String,
    /// The most usable bytes that it ever owned.
    pub live_bytes: u64,
    /// When it did.
    pub time_ns: u64,
    /// What the whole process held then.
    pub process_live_bytes: u64,
    /// `live_bytes` in requested bytes; absent in files of recorders that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_bytes: Option<u64>,
}

/// Counts over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Blocks allocated, those before the session included.
    pub allocations: u64,
    /// Blocks freed.
    pub frees: u64,
    /// Usable bytes of all blocks ever allocated; a growing realloc adds its growth.
    pub allocated_bytes: u64,
    /// Blocks that changed size in a realloc; these are neither allocations nor frees.
    pub reallocations: u64,
    /// `allocated_bytes` in requested bytes; absent in files of recorders that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_bytes: Option<u64>,
    /// By scope, in the order of the scopes' numbers; scopes that allocated nothing are left out.
    pub by_scope: Vec<ScopeTotals>,
}

/// Counts of one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeTotals {
    /// Index into [`Timeline::scopes`].
    pub scope: u32,
    /// Blocks that it allocated.
    pub allocations: u64,
    /// Blocks of its own that were freed, by whomever.
    pub frees: u64,
    /// Usable bytes that it allocated.
    pub allocated_bytes: u64,
}

/// What was still live when the session ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtExit {
    /// Who owns it.
    pub snapshot: Snapshot,
}

/// The account of the resident set at one instant near the peak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// When it was taken.
    pub time_ns: u64,
    /// Live bytes at that instant; compare with the peak's to see how near it is.
    pub live_bytes: u64,
    /// The resident set that the lines explain.
    pub rss_bytes: u64,
    /// The lines; they sum to `rss_bytes` exactly, and the last is named `unexplained`.
    pub lines: Vec<BookLine>,
}

/// One line of a [`Book`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookLine {
    /// What it is.
    pub name: String,
    /// How much; negative where it takes away.
    pub bytes: i64,
}

/// One figure from outside the tracker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// `rss`, `cgroup`, `gpu`, ...
    pub name: String,
    /// The most bytes it ever showed; absent when the machine has no such thing.
    pub peak_bytes: Option<u64>,
    /// What it showed at the sample nearest to the peak of the live bytes.
    pub at_peak_bytes: Option<u64>,
    /// Where the figure comes from, or why there is none.
    pub source: String,
}

/// What the tracker itself cost, and what it missed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackerCost {
    /// Resident bytes of everything the tracker keeps.
    pub overhead_bytes: u64,
    /// The parts of `overhead_bytes`.
    pub overhead: BTreeMap<String, u64>,
    /// Events that could not be put into order and were counted without it.
    pub dropped_events: u64,
    /// Frees of blocks that the tracker had not seen made.
    pub foreign_frees: u64,
    /// Scopes beyond the table's size, whose bytes are under `other scopes`, and scopes nested too deep, whose bytes are
    /// under the scope around them.
    pub overflowed_scopes: u64,
    /// What went wrong in recording, in words: a full disk, say.
    pub losses: Vec<String>,
}
