//! What a forked child has from its parent, apart from its own (`victims/forked.rs`): to the byte, by phase and by layer, at the peak
//! and at the end.
use std::process::Command;

use alloc_timeline::{Snapshot, Timeline, is_inherited};
use serde_json::Value;
use tests::{folder, rows, run, text, viewer};

const VICTIM: &str = env!("CARGO_BIN_EXE_victim-forked");
const MIB: u64 = 1 << 20;
/// Of a block of 1,000 bytes.
const SMALL: u64 = 1_024;
/// Of a list of 24,000 bytes.
const LIST: u64 = 24_576;

/// The usable bytes and the blocks of a phase and a layer in a table.
fn held(timeline: &Timeline, table: &Snapshot, [phase, layer]: [&str; 2]) -> (u64, u64) {
    let of = rows(timeline, table).filter(|(scope, _)| scope.phase == phase && scope.layer == layer);
    of.fold((0, 0), |(bytes, blocks), (_, row)| (bytes + row.usable_bytes, blocks + row.blocks))
}

/// What the child has in phases and layers that have names.
fn check_named(child: &Timeline, table: &Snapshot) {
    let held = |phase, layer| held(child, table, [phase, layer]);
    // 64 blocks and 1,000 less the 24 and 400 that the child has freed.
    assert_eq!(held("load (inherited)", "table (inherited)"), (40 * MIB + 600 * SMALL, 640));
    assert_eq!(held("load", "table"), (40 * MIB + 500 * SMALL, 540));
    // The three blocks with their list of 72 bytes, and the lists of what the phase `load` has: 1,000 entries of 24 bytes.
    assert_eq!(held("serve", ""), (6 * MIB + 80 + 2 * LIST, 6));
    // The two blocks with their list of 48.
    assert_eq!(held("", "side"), (8 * MIB + 48, 3));
}

#[test]
fn a_forked_childs_own_bytes_are_apart_from_those_it_inherited() {
    for mode in ["on", "exact"] {
        let folder = folder();
        let out = folder.path().join("run.timeline.json");
        let mut command = Command::new(VICTIM);
        command.arg(&out).env("ALLOC_TRACKER", mode).env_remove("ALLOC_TRACKER_STACKS");
        let ran = run(&mut command);
        assert_eq!(ran.code, Some(0), "{mode}: {}", ran.stderr);
        let parent = alloc_timeline::load(&out).expect("the parent's timeline");
        assert!(!parent.scopes.iter().any(is_inherited), "{mode}: {:?}", parent.scopes);
        let at_exit = &parent.at_exit.as_ref().expect("an end").snapshot;
        assert_eq!(held(&parent, at_exit, ["load", "table"]), (64 * MIB + 1_000 * SMALL, 1_064), "{mode}");

        let path = format!("{}.child", text(&out));
        let child = alloc_timeline::load(&path).expect("the child's timeline");
        let at_exit = &child.at_exit.as_ref().expect("an end").snapshot;
        check_named(&child, at_exit);
        // Small blocks are known to the byte at any instant where each is put into order.
        if mode == "exact" {
            check_named(&child, &child.peak);
        }
        let inherited_of = |table: &Snapshot| -> u64 {
            rows(&child, table).filter(|(scope, _)| is_inherited(scope)).map(|(_, row)| row.usable_bytes).sum()
        };
        let own = child.peak.live_bytes - inherited_of(&child.peak);
        // 40 + 6 + 8 MiB and 500 small blocks in phases and layers, 7 MiB in none; a thread and its start take less than 16 KiB. In
        // the mode `on` small blocks arrive within the slack.
        let known = 61 * MIB + 500 * SMALL + 2 * LIST;
        let bound = child.peak.slack_bytes + (16 << 10);
        assert!(own.abs_diff(known) < bound, "{mode}: {own} of its own, {known} known");
        let unnamed = held(&child, at_exit, ["", ""]).0;
        assert!((7 * MIB..7 * MIB + (16 << 10)).contains(&unnamed), "{mode}: {unnamed} in no scope");

        let json: Value = serde_json::from_str(&viewer(&["summary", &path, "--json"]).stdout).expect("JSON");
        assert_eq!(json["peak"]["inherited_bytes"], inherited_of(&child.peak), "{mode}");
        let says_inherited = |path: &str| {
            let said = viewer(&["summary", path]).stdout;
            said.lines().any(|line| line.starts_with("  inherited  ") && line.contains(" bytes "))
        };
        assert_eq!((says_inherited(&path), says_inherited(text(&out))), (true, false), "{mode}");
    }
}
