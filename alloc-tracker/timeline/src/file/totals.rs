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
    /// How many of its blocks were freed, in whatever scope.
    pub frees: u64,
    /// Usable bytes that it allocated, and those of the blocks that it was given, less those of the blocks that it gave away.
    pub allocated_bytes: u64,
    /// Blocks that it was given by labels that name a layer, less those that it gave away: of its blocks, `allocations + moved_in - frees` are
    /// live. Absent where it is 0, and in files of older recorders.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub moved_in: i64,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}
