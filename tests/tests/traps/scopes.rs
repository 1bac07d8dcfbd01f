//! More scopes than the tables have room for, and more nested scopes than a thread's stack has room for.
use alloc_timeline::Row;

use crate::counts::did;
use crate::run::all_modes;

/// Names and scopes beyond the tables' sizes go to `other scopes`, whose blocks are counted like all others.
#[test]
fn seventy_thousand() {
    let (ended, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-many"), &["scopes"]);
    assert!(timeline.tracker.overflowed_scopes > Some(0));
    let (allocations, frees, _) = did(&timeline, "many");
    let (others, others_freed, _) = did(&timeline, "other scopes");
    assert_eq!((allocations, others), (frees, others_freed));
    // Three blocks a scope: two of the trap's own and the name that it formats.
    assert!(allocations + others >= 140_070, "{allocations} {others}");
    let file = std::fs::metadata(ended.path()).expect("the timeline").len();
    assert!(file < 32 << 20, "{file} bytes");
}

#[test]
fn deeper_than_the_stack() {
    let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-many"), &["depth"]);
    let exit = &timeline.at_exit.as_ref().expect("an end").snapshot;
    let of = |phase: &str, layer: &str| -> u64 {
        let is = |row: &&Row| {
            let scope = &timeline.scopes[row.scope as usize];
            scope.phase == phase && scope.layer == layer
        };
        exit.rows.iter().filter(is).map(|row| row.requested_bytes).sum()
    };
    assert_eq!((of("deep", ""), of("after", "")), (777, 888));
    let (allocations, frees, _) = did(&timeline, "deep");
    assert_eq!(allocations, frees + 1);
}
