//! Counts over the whole run.
use serde::{Deserialize, Serialize};

/// Counts over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Blocks allocated, those before the session included.
    pub allocations: u64,
    /// Blocks freed.
    pub frees: u64,
    /// Usable bytes of all blocks ever allocated. A realloc that makes a block larger adds the difference.
    pub allocated_bytes: u64,
    /// Calls of realloc that changed a block's size. They count neither as allocations nor as frees.
    pub reallocations: u64,
    /// `allocated_bytes` in requested bytes. Absent in files of older recorders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_bytes: Option<u64>,
    /// By scope, in the order of the scopes' numbers; scopes that allocated nothing are left out.
    pub by_scope: Vec<ScopeTotals>,
}

/// Counts of one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeTotals {
    /// Index into [`Timeline::scopes`](crate::Timeline::scopes).
    pub scope: u32,
    /// Blocks that it allocated.
    pub allocations: u64,
    /// How many of those were freed, in whatever scope.
    pub frees: u64,
    /// Usable bytes that it allocated.
    pub allocated_bytes: u64,
}
