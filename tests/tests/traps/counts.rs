//! Checks of sums that hold in every timeline, and of what a phase allocated, freed and holds.
use alloc_timeline::{Dimension, Row, ScopeTotals, Snapshot, Timeline};

/// Checks the sums that hold in every timeline, whatever wrote it.
pub fn sums_hold(timeline: &Timeline) {
    let sums = |table: &Snapshot| {
        assert_eq!(table.rows.iter().map(|row| row.usable_bytes).sum::<u64>(), table.live_bytes);
        assert_eq!(table.rows.iter().map(|row| row.requested_bytes).sum::<u64>(), table.requested_bytes);
    };
    sums(&timeline.peak);
    timeline.at_exit.iter().map(|at_exit| &at_exit.snapshot).for_each(sums);
    timeline.marks.iter().filter_map(|mark| mark.snapshot.as_ref()).for_each(sums);
    for (index, &live) in timeline.series.live_bytes.iter().enumerate() {
        for dimension in [Dimension::Phase, Dimension::Layer, Dimension::Op, Dimension::Category] {
            let parts: u64 = timeline.series.by(dimension).values().map(|column| column[index]).sum();
            assert_eq!(parts, live, "{dimension:?} in sample {index}");
        }
        assert!(timeline.series.high_bytes[index] >= live);
    }
    let totals = &timeline.totals;
    let sum = |field: fn(&ScopeTotals) -> u64| totals.by_scope.iter().map(field).sum::<u64>();
    assert_eq!(sum(|scope| scope.allocations), totals.allocations);
    assert_eq!(sum(|scope| scope.frees), totals.frees);
    assert_eq!(sum(|scope| scope.allocated_bytes), totals.allocated_bytes);
}

/// The sums hold, and nothing was lost.
pub fn consistent(timeline: &Timeline) {
    sums_hold(timeline);
    assert_eq!(timeline.tracker.dropped_events, Some(0));
    assert_eq!(timeline.tracker.losses, Vec::<String>::new());
}

/// What all scopes of a phase did: allocations, frees, allocated bytes.
pub fn did(timeline: &Timeline, phase: &str) -> (u64, u64, u64) {
    let of_phase = |scope: &&ScopeTotals| timeline.scopes[scope.scope as usize].phase == phase;
    timeline.totals.by_scope.iter().filter(of_phase).fold((0, 0, 0), |(allocations, frees, bytes), scope| {
        (allocations + scope.allocations, frees + scope.frees, bytes + scope.allocated_bytes)
    })
}

/// What a phase held in a table: requested bytes, usable bytes, blocks.
pub fn held(timeline: &Timeline, table: &Snapshot, phase: &str) -> (u64, u64, u64) {
    let of_phase = |row: &&Row| timeline.scopes[row.scope as usize].phase == phase;
    table.rows.iter().filter(of_phase).fold((0, 0, 0), |(requested, usable, blocks), row| {
        (requested + row.requested_bytes, usable + row.usable_bytes, blocks + row.blocks)
    })
}

/// A phase allocated something, freed as many blocks, and holds nothing.
pub fn came_to_nothing(timeline: &Timeline, phase: &str) {
    let (allocations, frees, _) = did(timeline, phase);
    assert!(allocations > 0, "{phase}");
    assert_eq!(allocations, frees, "{phase}");
    assert_eq!(held(timeline, &timeline.at_exit.as_ref().expect("an end").snapshot, phase), (0, 0, 0), "{phase}");
}
