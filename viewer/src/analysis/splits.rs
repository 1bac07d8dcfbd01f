//! The bytes of a table of owners, split in every way there is.
use std::collections::BTreeMap;

use alloc_timeline::{Dimension, Row, Scope, Snapshot, split_by};
use serde::Serialize;

/// Bytes by name, once for each dimension. Each map sums to the table's live bytes. The field names never change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Splits {
    /// By phase.
    pub by_phase: BTreeMap<String, u64>,
    /// By layer.
    pub by_layer: BTreeMap<String, u64>,
    /// By operator.
    pub by_op: BTreeMap<String, u64>,
    /// By category.
    pub by_category: BTreeMap<String, u64>,
}

impl Splits {
    /// The splits of `table`, whose rows are of these scopes.
    pub fn new(table: &Snapshot, scopes: &[Scope]) -> Splits {
        let by = |dimension| table.by(scopes, dimension);
        Splits {
            by_phase: by(Dimension::Phase),
            by_layer: by(Dimension::Layer),
            by_op: by(Dimension::Op),
            by_category: by(Dimension::Category),
        }
    }

    /// All of them.
    pub fn all(&self) -> [&BTreeMap<String, u64>; 4] {
        [&self.by_phase, &self.by_layer, &self.by_op, &self.by_category]
    }
}

/// The bytes of each category by operator. All of them sum to the table's live bytes.
pub(super) fn by_category_and_op(table: &Snapshot, scopes: &[Scope]) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut rows: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    table.rows.iter().for_each(|row| rows.entry(row.category.name()).or_default().push(*row));
    let by_op = |rows: &[Row]| split_by(rows, scopes, Dimension::Op, |row| row.usable_bytes);
    rows.into_iter()
        .map(|(category, rows)| (category.to_owned(), by_op(&rows)))
        .filter(|(_, ops)| !ops.is_empty())
        .collect()
}
