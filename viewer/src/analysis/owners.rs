//! The rows of a table, by full owner: layer, phase, operator and category together.
use std::collections::BTreeMap;

use alloc_timeline::{Category, Dimension, Scope, Snapshot};
use serde::Serialize;

/// One owner and what it held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// Layer path.
    pub layer: String,
    /// Phase.
    pub phase: String,
    /// Operator.
    pub op: String,
    /// What the blocks are for.
    pub category: Category,
    /// Usable bytes.
    pub bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
}

/// All owners of `snapshot`, biggest first. They sum to its live bytes.
pub fn owners(snapshot: &Snapshot, scopes: &[Scope]) -> Vec<Owner> {
    let nobody = Scope::default();
    let mut sums: BTreeMap<(&str, &str, &str, Category), (u64, u64)> = BTreeMap::new();
    for row in &snapshot.rows {
        let scope = scopes.get(row.scope as usize).unwrap_or(&nobody);
        let name = |dimension: Dimension| dimension.of(scope, row.category);
        let key = (name(Dimension::Layer), name(Dimension::Phase), name(Dimension::Op), row.category);
        let (bytes, blocks) = sums.entry(key).or_default();
        *bytes += row.usable_bytes;
        *blocks = blocks.saturating_add(row.blocks);
    }
    let mut owners: Vec<Owner> = sums
        .into_iter()
        .filter(|(_, (bytes, _))| *bytes > 0)
        .map(|((layer, phase, op, category), (bytes, blocks))| Owner {
            layer: layer.to_owned(),
            phase: phase.to_owned(),
            op: op.to_owned(),
            category,
            bytes,
            blocks,
        })
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
        assert_eq!((first.layer.as_str(), first.phase.as_str(), first.bytes), ("conv1", "forward", 8192));
        assert_eq!(owners.last().map(|owner| (owner.layer.as_str(), owner.bytes)), Some(("(none)", 128)));
    }
}
