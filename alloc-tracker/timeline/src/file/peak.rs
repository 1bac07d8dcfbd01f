//! Peaks: of the requested bytes, of each step, and of each phase, layer and operator.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::scope::Dimension;

/// The most requested bytes that were live at once. Where several instants had as many, this is the latest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakRequested {
    /// When, since the session began.
    pub time_ns: u64,
    /// Requested bytes not yet freed.
    pub bytes: u64,
    /// How many blocks they were in.
    pub blocks: u64,
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
    /// The same by category; the values sum to `live_bytes`.
    pub by_category: BTreeMap<String, u64>,
    /// Live bytes when the step ended.
    pub end_live_bytes: u64,
    /// `live_bytes` in requested bytes. Absent in files of older recorders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_bytes: Option<u64>,
    /// `end_live_bytes` in requested bytes. Absent in files of older recorders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_requested_bytes: Option<u64>,
    /// Whether the program did not say where the step begins: it ends as the first operator with a gradient to come follows on
    /// an optimizer's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub derived: bool,
}

/// The peak of one phase, layer or operator by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HighWater {
    /// Phase, layer or op.
    pub dimension: Dimension,
    /// Its name.
    pub name: String,
    /// The most usable bytes that it owned at once.
    pub live_bytes: u64,
    /// When that was.
    pub time_ns: u64,
    /// What the whole process held then.
    pub process_live_bytes: u64,
    /// `live_bytes` in requested bytes. Absent in files of older recorders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_bytes: Option<u64>,
}
