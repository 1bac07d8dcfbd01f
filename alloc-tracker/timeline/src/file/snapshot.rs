//! Who owned what at one instant, and the instants that the program named.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::scope::{Category, Dimension, Row, Scope, split_by};

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
    /// The true number of live bytes differs from `live_bytes` by at most this much.
    pub slack_bytes: u64,
    /// One row for each scope and category that owned anything.
    pub rows: Vec<Row>,
}

impl Snapshot {
    /// Usable bytes by one dimension; the values sum to `live_bytes`.
    pub fn by(&self, scopes: &[Scope], dimension: Dimension) -> BTreeMap<String, u64> {
        split_by(&self.rows, scopes, dimension, |row| row.usable_bytes)
    }

    /// Usable bytes of blocks for which no phase, layer or operator was active when they were allocated. The start-up of
    /// the shared libraries does not count.
    pub fn unattributed_bytes(&self, scopes: &[Scope]) -> u64 {
        let unowned = |row: &&Row| {
            let scope = scopes.get(row.scope as usize);
            scope.is_none_or(|s| s.phase.is_empty() && s.layer.is_empty() && s.op.is_empty())
                && row.category != Category::Runtime
        };
        self.rows.iter().filter(unowned).map(|row| row.usable_bytes).sum()
    }
}

/// What was still live when the session ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtExit {
    /// Who owns it.
    pub snapshot: Snapshot,
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
    /// Who owned them, if the program asked for that. Only the latest marks of each name keep it.
    pub snapshot: Option<Snapshot>,
}
