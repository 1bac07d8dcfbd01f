//! Who holds most of the live bytes, and who grew most: the answer when memory runs short.
use std::collections::BTreeMap;

use alloc_timeline::{Dimension, Growing, Growth, Holder, NONE, Scope, Snapshot};

/// Growth from step to step counts when it is at least 1 part in this of the live bytes. Otherwise what grows does so
/// within a step.
const GROWTH_PART: u64 = 100;
/// Fewer steps say nothing of growth.
const FEWEST_STEPS: usize = 4;

/// The name of one dimension that holds most; `None` when nothing has such a name.
pub fn most(now: &Snapshot, scopes: &[Scope], dimension: Dimension) -> Option<Holder> {
    let named = now.by(scopes, dimension).into_iter().filter(|(name, _)| name != NONE);
    let most = named.max_by_key(|(_, bytes)| *bytes).filter(|(_, bytes)| *bytes > 0);
    most.map(|(name, bytes)| Holder { name, bytes })
}

/// Who grew most: from step to step in the later half of the steps, or else since the snapshot `before`.
pub fn growing(now: &Snapshot, before: Option<&Snapshot>, growth: &Growth, scopes: &[Scope]) -> Option<Growing> {
    by_steps(growth, scopes).filter(|found| found.bytes >= now.live_bytes / GROWTH_PART).or_else(|| {
        let before = before?;
        let mut change = BTreeMap::new();
        let rows = now.rows.iter().map(|row| (row, 1)).chain(before.rows.iter().map(|row| (row, -1)));
        rows.for_each(|(row, sign)| *change.entry(row.scope).or_insert(0) += sign * row.usable_bytes as i64);
        let over_ns = now.time_ns.saturating_sub(before.time_ns);
        greatest(change, scopes).map(|(owner, bytes)| Growing { owner, bytes, steps: 0, over_ns })
    })
}

fn by_steps(growth: &Growth, scopes: &[Scope]) -> Option<Growing> {
    let last = growth.steps.len().checked_sub(1).filter(|&last| last + 1 >= FEWEST_STEPS)?;
    let middle = last / 2;
    let mut change = BTreeMap::new();
    for owner in &growth.owners {
        let bytes = *owner.live_bytes.get(last)? as i64 - *owner.live_bytes.get(middle)? as i64;
        *change.entry(owner.scope).or_insert(0) += bytes;
    }
    let steps = growth.steps[last] - growth.steps[middle];
    greatest(change, scopes).map(|(owner, bytes)| Growing { owner, bytes, steps, over_ns: 0 })
}

/// The scope that grew most, in words, and by how much; `None` when none grew.
fn greatest(change: BTreeMap<u32, i64>, scopes: &[Scope]) -> Option<(String, u64)> {
    let (scope, bytes) = change.into_iter().filter(|(_, bytes)| *bytes > 0).max_by_key(|(_, bytes)| *bytes)?;
    Some((words(scopes.get(scope as usize)), bytes.unsigned_abs()))
}

/// `conv1 in forward, aten::conv2d`, as far as there are such names.
fn words(scope: Option<&Scope>) -> String {
    let Some(Scope { phase, layer, op }) = scope else { return "what no scope owns".to_owned() };
    let place = [layer.as_str(), phase.as_str()].into_iter().filter(|name| !name.is_empty());
    let place = place.collect::<Vec<_>>().join(" in ");
    let names: Vec<&str> = [place.as_str(), op.as_str()].into_iter().filter(|name| !name.is_empty()).collect();
    if names.is_empty() { "what no scope owns".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use alloc_timeline::{Category, GrowthOwner, Row};

    use super::*;

    fn scopes() -> Vec<Scope> {
        let scope =
            |phase: &str, layer: &str, op: &str| Scope { phase: phase.into(), layer: layer.into(), op: op.into() };
        vec![
            scope("", "", ""),
            scope("forward", "conv1", "aten::conv2d"),
            scope("forward", "fc", ""),
            scope("loss", "", ""),
        ]
    }

    fn snapshot(time_ns: u64, bytes: &[(u32, u64)]) -> Snapshot {
        let row = |&(scope, usable_bytes): &(u32, u64)| Row {
            scope,
            category: Category::Other,
            usable_bytes,
            requested_bytes: usable_bytes,
            blocks: 1,
        };
        let rows: Vec<Row> = bytes.iter().map(row).collect();
        let live_bytes = rows.iter().map(|row| row.usable_bytes).sum();
        Snapshot { time_ns, live_bytes, rows, ..Snapshot::default() }
    }

    #[test]
    fn the_most_of_each_kind_has_a_name() {
        let now = snapshot(5, &[(0, 900), (1, 100), (2, 150), (3, 240)]);
        let holder = |name: &str, bytes| Some(Holder { name: name.into(), bytes });
        assert_eq!(most(&now, &scopes(), Dimension::Layer), holder("fc", 150));
        assert_eq!(most(&now, &scopes(), Dimension::Phase), holder("forward", 250));
        assert_eq!(most(&now, &scopes(), Dimension::Op), holder("aten::conv2d", 100));
        assert_eq!(most(&snapshot(5, &[(0, 900)]), &scopes(), Dimension::Op), None);
    }

    #[test]
    fn growth_since_a_snapshot() {
        let before = snapshot(2, &[(1, 100), (2, 300)]);
        let now = snapshot(9, &[(0, 1), (1, 180), (2, 250), (3, 70)]);
        let found = growing(&now, Some(&before), &Growth::default(), &scopes());
        let owner = "conv1 in forward, aten::conv2d".to_owned();
        assert_eq!(found, Some(Growing { owner, bytes: 80, steps: 0, over_ns: 7 }));
        assert_eq!(growing(&before, Some(&before), &Growth::default(), &scopes()), None);
        assert_eq!(growing(&now, None, &Growth::default(), &scopes()), None);
        let unowned = growing(&snapshot(9, &[(0, 9)]), Some(&before), &Growth::default(), &scopes());
        assert_eq!(unowned.map(|found| found.owner).as_deref(), Some("what no scope owns"));
    }

    /// What stays from step to step is worth more than what swings within one, unless it is too little to matter.
    #[test]
    fn growth_from_step_to_step() {
        let column =
            |scope, bytes: [u64; 4]| GrowthOwner { scope, category: Category::Other, live_bytes: bytes.into() };
        let owners = vec![column(3, [10, 20, 30, 40]), column(1, [500, 500, 500, 500])];
        let growth = Growth { steps: vec![1, 2, 3, 4], owners, ..Growth::default() };
        let before = snapshot(2, &[(1, 100)]);
        let found = growing(&snapshot(9, &[(1, 900), (3, 40)]), Some(&before), &growth, &scopes());
        assert_eq!(found, Some(Growing { owner: "loss".into(), bytes: 20, steps: 2, over_ns: 0 }));
        let found = growing(&snapshot(9, &[(1, 9_000), (3, 40)]), Some(&before), &growth, &scopes());
        assert_eq!(found.map(|found| (found.bytes, found.steps)), Some((8_900, 0)));
    }
}
