//! `viewer unread` for a made-up run.
use crate::common::{Folder, nets, viewer};
use alloc_timeline::{Category, Scope, Sums, Timeline, Unread, UnreadRow};
use serde_json::Value;

const MIB: u64 = 1 << 20;

fn sums(usable_bytes: u64, blocks: u64) -> Sums {
    Sums { usable_bytes, requested_bytes: usable_bytes, blocks }
}

/// A run whose peak holds a map of 3 MiB that the end of a statement frees, one of 1 MiB that a node frees, one of 100 bytes
/// that nobody ever read, and parameters of 2 MiB that live to the end.
fn run() -> Timeline {
    let mut timeline = nets::stem();
    let first = timeline.scopes.len() as u32;
    for (phase, layer, op) in [
        ("infer", "", ""),
        ("infer", "conv1", "aten::conv2d"),
        ("infer", "bn1", "aten::batch_norm"),
        ("backward", "bn1", "Bn"),
    ] {
        timeline.scopes.push(Scope { phase: phase.into(), layer: layer.into(), op: op.into() });
    }
    let [statement, conv, norm, node] = [0, 1, 2, 3].map(|number| Some(first + number));
    let row = |bytes, category, read_in: Option<u32>, freed_in: Option<u32>| UnreadRow {
        made_in: conv,
        category,
        read_in,
        read_ns: read_in.map(|_| 7_000_000),
        reads: u64::from(read_in.is_some()),
        freed: freed_in.is_some(),
        freed_in,
        freed_ns: freed_in.map(|_| 19_500_000),
        sums: sums(bytes, 1),
    };
    let rows = vec![
        row(3 * MIB, Category::Activation, norm, statement),
        row(2 * MIB, Category::Parameter, conv, None),
        row(MIB, Category::Activation, norm, node),
        row(100, Category::Activation, None, statement),
    ];
    let (live_bytes, unread) = (timeline.peak.live_bytes, sums(6 * MIB + 100, 4));
    let (read_later, workspace) = (sums(4 * MIB, 3), sums(MIB, 1));
    timeline.unread = Some(Unread {
        time_ns: timeline.peak.time_ns,
        live_bytes,
        read_later,
        workspace,
        unread,
        unknown_bytes: live_bytes - 11 * MIB - 100,
        prompt_peak_bytes: live_bytes - 4 * MIB,
        prompt_peak_ns: 6_000_000,
        rows,
    });
    timeline
}

#[test]
fn unread() {
    let folder = Folder::new();
    let file = folder.store("stem-infer.timeline.json", &run());
    let answer = viewer(&["unread", &file]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    insta::assert_snapshot!(answer.out);
    let json: Value = serde_json::from_str(&viewer(&["unread", &file, "--json"]).out).unwrap();
    assert_eq!(json["unread"]["usable_bytes"], 6 * MIB + 100);
    assert_eq!(json["storages"][0]["held_ns"], 12_500_000);
    assert_eq!(json["releases"][0]["blocks"], 2);
    assert!(viewer(&["summary", &file]).out.contains("3.0 MiB (3,145,828 bytes) of that, 2 storages, were freed"));
}

/// One row of each table, and the rest.
#[test]
fn the_tables_can_be_short() {
    let folder = Folder::new();
    let file = folder.store("stem-infer.timeline.json", &run());
    assert!(viewer(&["unread", &file, "--top", "1"]).out.contains("rest (2 rows)"));
}

/// A timeline that says nothing of reads is no error, and the summary is silent.
#[test]
fn what_was_not_told_is_said() {
    let folder = Folder::new();
    let file = folder.store("old.timeline.json", &nets::stem());
    let answer = viewer(&["unread", &file]);
    assert_eq!((answer.code, answer.out.contains("Not recorded")), (0, true));
    assert_eq!(viewer(&["unread", &file, "--json"]).code, 0);
    assert!(!viewer(&["summary", &file]).out.contains("read again"));
}
