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

fn in_order(rows: impl Iterator<Item = Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by_key(Row::owner);
    rows
}

impl Snapshot {
    /// This snapshot with only those rows that are not in `before`. An owner that has no row here any more has one of zeros.
    pub fn changes_since(&self, before: &Snapshot) -> Snapshot {
        let news = self.rows.iter().filter(|row| before.row_of(row.owner()) != Some(row)).copied();
        let gone = before.rows.iter().filter(|row| self.row_of(row.owner()).is_none());
        let zeros = gone.map(|row| Row { usable_bytes: 0, requested_bytes: 0, blocks: 0, ..*row });
        Snapshot { rows: in_order(news.chain(zeros)), ..*self }
    }

    /// Makes this snapshot that of which [`changes_since`](Snapshot::changes_since) this one are `changes`.
    pub fn change(&mut self, changes: Snapshot) {
        let same = self.rows.iter().filter(|row| changes.row_of(row.owner()).is_none());
        let news = changes.rows.iter().filter(|row| row.usable_bytes > 0);
        *self = Snapshot { rows: in_order(same.chain(news).copied()), ..changes };
    }

    fn row_of(&self, of: (u32, Category)) -> Option<&Row> {
        self.rows.binary_search_by_key(&of, Row::owner).ok().map(|index| &self.rows[index])
    }

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Snapshots of up to 20 owners, in order, each with some bytes.
    fn snapshots() -> impl Strategy<Value = Snapshot> {
        let rows = prop::collection::btree_map((0u32..5, 0usize..4), (1u64..4, 0u64..4, 1u64..3), 0..20);
        (rows, 0u64..10).prop_map(|(rows, time_ns)| {
            let row = |((scope, category), (usable_bytes, requested_bytes, blocks))| Row {
                scope,
                category: Category::ALL[category],
                usable_bytes,
                requested_bytes,
                blocks,
            };
            let mut snapshot = Snapshot { time_ns, rows: rows.into_iter().map(row).collect(), ..Snapshot::default() };
            snapshot.rows.sort_by_key(Row::owner);
            snapshot.live_bytes = snapshot.rows.iter().map(|row| row.usable_bytes).sum();
            snapshot
        })
    }

    proptest! {
        #[test]
        fn changes_make_the_later_of_the_earlier(before in snapshots(), after in snapshots()) {
            let changes = after.changes_since(&before);
            prop_assert!(changes.rows.iter().all(|row| !before.rows.contains(row)));
            let mut changed = before;
            changed.change(changes);
            prop_assert_eq!(changed, after);
        }
    }
}
