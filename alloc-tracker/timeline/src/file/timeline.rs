//! The document itself, as it stands in `timeline.json`.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::book::{Book, MarkBook, OutsideFigure};
use super::child_processes::ChildProcesses;
use super::cost::TrackerCost;
use super::device::{DeviceMemory, DevicePrediction};
use super::energy::Energy;
use super::near_limit::NearLimit;
use super::peak::{HighWater, PeakRequested, Step};
use super::run::{Allocator, Ending, Machine, Resolution};
use super::series::Series;
use super::shared_memory::SharedMemory;
use super::snapshot::{AtExit, Mark, Snapshot};
use super::step_times::StepTimes;
use super::totals::Totals;
use super::utilisation::Utilisation;
use crate::analysis::Analysis;
use crate::scope::Scope;
use crate::stacks::Stacks;
use crate::unread::Unread;

/// The value of [`Timeline::format`].
pub const FORMAT_NAME: &str = "alloc-timeline";
/// The version that this crate writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// A whole run.
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
    /// What the program said about itself, such as `model`, `mode` and `batch`. `command`, `pid` and `started_unix_ns` are
    /// always there.
    pub run: BTreeMap<String, Value>,
    /// Where it ran.
    pub machine: Machine,
    /// Which allocator served the program, and its settings.
    pub allocator: Allocator,
    /// For each shared object that calls malloc: whose malloc it calls.
    pub interposition: Vec<Resolution>,
    /// All scopes. A scope's number is its index here. In scope 0 no phase, layer or operator is active; in a forked child it is
    /// what the parent allocated in no scope.
    pub scopes: Vec<Scope>,
    /// The phases of `scopes` that the program did not name, see [`DerivedPhase`](crate::DerivedPhase): operators told them.
    /// Empty when there are none, and in files of older recorders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived_phases: Vec<String>,
    /// What the operators of a layer say that it is, by layer path: `3x3 convolution, 3 to 64 channels`. Only layers of which
    /// that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub layer_kinds: BTreeMap<String, String>,
    /// The course of the run.
    pub series: Series,
    /// Named instants, in the order in which they came.
    pub marks: Vec<Mark>,
    /// The steps of the run, each with its own peak.
    pub steps: Vec<Step>,
    /// The instant at which the most bytes were live.
    pub peak: Snapshot,
    /// The instant at which the most requested bytes were live, which need not be that of `peak`. Absent in files of older
    /// recorders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_requested: Option<PeakRequested>,
    /// The peak of each phase, layer and operator by itself, whenever that was.
    pub high_waters: Vec<HighWater>,
    /// Counts over the whole run.
    pub totals: Totals,
    /// What was still live when the session ended. Absent when the recording did not reach its end.
    pub at_exit: Option<AtExit>,
    /// What the resident set consisted of near the peak. Absent when /proc could not be read.
    pub book: Option<Book>,
    /// The books of marks that asked for one, in the order in which they came. Only the latest of each name are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mark_books: Vec<MarkBook>,
    /// When the process came near what it may have, in the order of time. Only the latest are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near_limits: Vec<NearLimit>,
    /// The child processes, when they and this process took most memory of all readings. Absent when there were none, and in files of older
    /// recorders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_processes: Option<ChildProcesses>,
    /// Figures that others than the tracker measured, over the whole run.
    pub lanes: Vec<OutsideFigure>,
    /// What the tracker itself cost, and what it missed.
    pub tracker: TrackerCost,
    /// What became of the blocks. Absent in files of older recorders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
    /// Which of the bytes at the peak nobody read again. Absent when nobody told what operators read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<Unread>,
    /// What the tensors of the run would have taken on a device, for some settings of PyTorch's caching allocator. Empty
    /// when there were no tensors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_predictions: Vec<DevicePrediction>,
    /// The memory of each device that the run used, measured. Empty when it used none, and in files of older recorders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceMemory>,
    /// Tensors in shared memory. Absent when nobody told of any, and in files of older recorders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_memory: Option<SharedMemory>,
    /// Sampled call stacks of allocations. Absent when the program was not run with stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks: Option<Stacks>,
    /// What the run used of the processors. Absent in files of older recorders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<Utilisation>,
    /// How long each scope was active, step by step. Empty when the session was not asked for times or had no steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step_times: Vec<StepTimes>,
    /// Energy. Absent when the session was not asked for times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
}
