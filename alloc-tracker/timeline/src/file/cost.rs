//! What the tracker itself cost, and what it missed.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the tracker itself cost, and what it missed. Only the end of a recording tells: where it was not reached, numbers are
/// absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackerCost {
    /// Resident bytes of everything the tracker keeps.
    pub overhead_bytes: Option<u64>,
    /// The parts of `overhead_bytes`.
    pub overhead: BTreeMap<String, u64>,
    /// Events that could not be put into order and were counted without it.
    pub dropped_events: Option<u64>,
    /// Frees of blocks whose allocation the tracker has not seen.
    pub foreign_frees: Option<u64>,
    /// Scopes that found no room. Those beyond the size of the table count as `other scopes`; those nested too deep count
    /// as the scope around them.
    pub overflowed_scopes: Option<u64>,
    /// What went wrong in the recording, in words, such as a full disk.
    pub losses: Vec<String>,
    /// Nanoseconds of processor time that reading each probe took. Empty in files from before they were measured.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub probes_ns: BTreeMap<String, u64>,
}
