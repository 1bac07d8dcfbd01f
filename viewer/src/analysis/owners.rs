//! The owners of a snapshot: each combination of layer, phase, operator and category with its bytes.
use std::collections::BTreeMap;

use alloc_timeline::{Category, Scope, Snapshot};
use serde::Serialize;

use crate::model::ScopeNames;

/// One owner and its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnerBytes {
    /// Layer, phase and operator.
    #[serde(flatten)]
    pub scope: ScopeNames,
    /// What the blocks are for.
    pub category: Category,
    /// Usable bytes.
    pub bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
}

/// All owners of `snapshot`, the biggest first. Their bytes sum to its live bytes.
pub fn owners(snapshot: &Snapshot, scopes: &[Scope]) -> Vec<OwnerBytes> {
    let mut sums: BTreeMap<(ScopeNames, Category), (u64, u64)> = BTreeMap::new();
    for row in &snapshot.rows {
        let (bytes, blocks) = sums.entry((ScopeNames::new(scopes, row.scope), row.category)).or_default();
        *bytes += row.usable_bytes;
        *blocks = blocks.saturating_add(row.blocks);
    }
    let mut owners: Vec<OwnerBytes> = sums
        .into_iter()
        .filter(|(_, (bytes, _))| *bytes > 0)
        .map(|((scope, category), (bytes, blocks))| OwnerBytes { scope, category, bytes, blocks })
        .collect();
    owners.sort_by_key(|owner| std::cmp::Reverse(owner.bytes));
    owners
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn owners_are_sorted_and_lose_nothing() {
        let run = tiny();
        let owners = owners(&run.peak, &run.scopes);
        assert_eq!(owners.iter().map(|owner| owner.bytes).sum::<u64>(), 16_000);
        let first = &owners[0];
        let names = (first.scope.layer.as_str(), first.scope.phase.as_str(), first.bytes);
        assert_eq!(names, ("conv1", "forward", 8192));
        assert_eq!(owners.last().map(|owner| (owner.scope.layer.as_str(), owner.bytes)), Some(("(none)", 128)));
    }
}
