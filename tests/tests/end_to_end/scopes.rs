//! Scopes under strain (`victims/scopes.rs`): guards dropped in any order, leaked, dropped by a panic, too deep, on
//! other threads, in a future, and more of them than there is room for.
use std::collections::BTreeMap;

use alloc_timeline::{Snapshot, Timeline};
use tests::{Ran, rows, tables, victim};

/// Requested bytes in the snapshot by phase and layer, owners without either left out; the timeline as well.
fn tried(what: &str) -> (Timeline, BTreeMap<(String, String), u64>) {
    let (_, timeline, held) = ran(what);
    (timeline, held)
}

/// The same with what the program wrote.
fn ran(what: &str) -> (Ran, Timeline, BTreeMap<(String, String), u64>) {
    let (ran, timeline) = victim(env!("CARGO_BIN_EXE_victim-scopes"), &[what]);
    assert_eq!(ran.code, Some(0), "{what}: {}", ran.stderr);
    let mut held = BTreeMap::new();
    for (scope, row) in rows(&timeline, done(&timeline)).filter(|(scope, _)| scope.phase != "runtime") {
        *held.entry((scope.phase.clone(), scope.layer.clone())).or_default() += row.requested_bytes;
    }
    (ran, timeline, held)
}

fn done(timeline: &Timeline) -> &Snapshot {
    tables(timeline, "done")[0]
}

/// The owners that have a phase or a layer, in the order of their names.
#[track_caller]
fn owners(what: &str, expected: &[(&str, &str, u64)]) {
    let (_, held) = tried(what);
    let named: Vec<(&str, &str, u64)> = held
        .iter()
        .filter(|((phase, layer), _)| !phase.is_empty() || !layer.is_empty())
        .map(|((phase, layer), &bytes)| (phase.as_str(), layer.as_str(), bytes))
        .collect();
    assert_eq!(named, expected, "{what}");
}

/// Dropping `outer` leaves its inner scopes too, so the 2,000 and the 3,000 bytes belong to no phase and no layer.
#[test]
fn dropped_out_of_order() {
    owners("out-of-order", &[("after", "", 4_000), ("outer", "inner", 1_000)]);
}

/// The layer of the forgotten guard ends with the phase around it, so 2,000 bytes belong to no phase and no layer.
#[test]
fn leaked_with_forget() {
    owners("leaked", &[("after", "", 4_000), ("outer", "forgotten", 1_000)]);
}

#[test]
fn dropped_while_panicking() {
    let (_, held) = tried("panicking");
    assert_eq!(held[&("outer".to_owned(), "inner".to_owned())], 1_000);
    // Beside the 2,000 bytes, `outer` holds the panic hook and what the unwinder keeps.
    let outer = held[&("outer".to_owned(), String::new())];
    assert!((2_000..20_000).contains(&outer), "{outer}");
}

/// 256 scopes can be within each other. 255 layers own their 1,000 bytes each, the 256th its own and those of the 44
/// that were not entered; the 2,000 bytes outside belong to no scope again. The timeline says that 44
/// scopes were not entered.
#[test]
fn deeper_than_256() {
    let (timeline, held) = tried("recursion");
    let path = |depth: usize| vec!["r"; depth].join(".");
    let at = |depth| held.get(&(String::new(), path(depth))).copied();
    for depth in 1..256 {
        assert_eq!(at(depth), Some(1_000), "{depth} deep");
    }
    assert_eq!(at(256), Some(45_000));
    assert_eq!(at(257), None);
    let layers: u64 = held.iter().filter(|((_, layer), _)| !layer.is_empty()).map(|(_, bytes)| bytes).sum();
    assert_eq!(layers, 300_000, "not a byte is lost");
    let tracker = &timeline.tracker;
    let told = tracker.overflowed_scopes == Some(44) || tracker.losses.iter().any(|loss| loss.contains("44"));
    assert!(told, "that 44 scopes were not entered is not told: {tracker:?}");
}

/// Two threads in the captured scope, 1,000 bytes each; after detaching, their own phases; a third thread inherits
/// nothing.
#[test]
fn captured_and_attached_on_other_threads() {
    owners("threads", &[("", "alone", 4_000), ("outer", "inner", 2_000), ("own", "", 4_000)]);
}

/// Three polls on two threads make 3,000 bytes of the task; what each thread plants after a poll is its own phase's.
#[test]
fn a_future_takes_its_scope_along() {
    let (_, held) = tried("future");
    let at = |phase: &str, layer: &str| held[&(phase.to_owned(), layer.to_owned())];
    assert_eq!(at("outer", "task"), 3_000);
    assert_eq!(at("there", ""), 2_000);
    // `here` made the other thread as well: its handle and its stack's bookkeeping are beside the 4,000 bytes.
    assert!((4_000..8_000).contains(&at("here", "")), "{}", at("here", ""));
    assert_eq!(held.keys().filter(|(phase, _)| phase == "outer").count(), 1, "{held:?}");
}

/// There are 32,639 scopes. What finds no place is under `other scopes`, and counted; no block is lost.
#[test]
fn more_layers_than_there_is_room_for() {
    let (ran, timeline, held) = ran("many");
    assert_eq!(ran.stderr.matches("32639 scopes is full").count(), 1, "{}", ran.stderr);
    let own: Vec<u64> =
        held.iter().filter(|((_, layer), _)| layer.starts_with("many.")).map(|(_, bytes)| *bytes).collect();
    assert!(own.iter().all(|&bytes| bytes == 48), "a layer that has a place owns its block and no other");
    assert!(own.len() > 30_000, "{} layers have a place of their own", own.len());
    let other: u64 = held.iter().filter(|((phase, _), _)| phase == "other scopes").map(|(_, bytes)| *bytes).sum();
    let beyond = 70_000 - own.len() as u64;
    assert_eq!(other, beyond * 48 + 5_000, "and the phase after them, for which there was no place either");
    assert!(timeline.tracker.overflowed_scopes > Some(beyond), "{:?} for {beyond}", timeline.tracker.overflowed_scopes);
    let said = timeline.marks.iter().filter(|mark| mark.name.contains("32639 scopes is full"));
    assert_eq!(said.count(), 1, "the marks say it once: {:?}", timeline.marks);
    for dimension in alloc_timeline::Dimension::ALL {
        let sum: u64 = done(&timeline).by(&timeline.scopes, dimension).values().sum();
        assert_eq!(sum, done(&timeline).live_bytes, "{dimension}");
    }
}
