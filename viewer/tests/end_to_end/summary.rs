//! `viewer summary` and `viewer reconcile`: the fields of their JSON, and the texts for missing data.
use crate::common::{Folder, nets, viewer};
use serde_json::Value;

fn summary(folder: &Folder, timeline: &alloc_timeline::Timeline) -> Value {
    let file = folder.store("x.timeline.json", timeline);
    let answer = viewer(&["summary", &file, "--json"]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    serde_json::from_str(&answer.out).unwrap()
}

/// Every field that scripts rely on has its type.
#[test]
fn the_json_keeps_its_contract() {
    let summary = summary(&Folder::new(), &nets::resnet18());
    for field in [
        "/format_version",
        "/peak/live_bytes",
        "/peak/requested_bytes",
        "/peak/time_ns",
        "/peak/slack_bytes",
        "/peak/unattributed_bytes",
        "/totals/allocations",
        "/totals/frees",
        "/totals/allocated_bytes",
        "/totals/live_at_exit_bytes",
        "/rss/peak_bytes",
        "/rss/at_peak_bytes",
        "/tracker/overhead_bytes",
        "/tracker/dropped_events",
        "/tracker/foreign_frees",
        "/run/batch",
    ] {
        assert!(summary.pointer(field).is_some_and(Value::is_u64), "{field}: {:?}", summary.pointer(field));
    }
    assert_eq!(summary["run"]["model"], "resnet18");
    assert_eq!(summary["run"]["mode"], "train");
}

#[test]
fn the_parts_of_every_split_sum_to_the_byte() {
    for timeline in [nets::resnet18(), nets::mobilenet()] {
        let summary = summary(&Folder::new(), &timeline);
        let live = summary["peak"]["live_bytes"].as_u64().unwrap();
        for split in ["by_phase", "by_layer", "by_op", "by_category"] {
            let parts = summary["peak"][split].as_object().unwrap();
            assert_eq!(parts.values().map(|bytes| bytes.as_u64().unwrap()).sum::<u64>(), live, "{split}");
        }
        let by_op = summary["peak"]["by_category_and_op"].as_object().unwrap();
        for (category, bytes) in summary["peak"]["by_category"].as_object().unwrap() {
            let ops = by_op[category].as_object().unwrap();
            assert_eq!(ops.values().filter_map(Value::as_u64).sum::<u64>(), bytes.as_u64().unwrap(), "{category}");
        }
    }
}

#[test]
fn the_account_sums_to_the_resident_set_and_ends_unexplained() {
    let timeline = nets::mobilenet();
    let summary = summary(&Folder::new(), &timeline);
    let lines = summary["reconcile"].as_array().unwrap();
    let sum: i64 = lines.iter().map(|line| line["bytes"].as_i64().unwrap()).sum();
    assert_eq!(sum, timeline.book.unwrap().rss_bytes as i64);
    assert_eq!(lines.last().unwrap()["name"], "unexplained");
}

#[test]
fn what_is_unavailable_is_null_in_json_and_said_in_text() {
    let folder = Folder::new();
    let mut timeline = nets::stem();
    timeline.book = None;
    timeline.lanes.retain(|lane| lane.name != "rss");
    let json = summary(&folder, &timeline);
    assert_eq!(json["reconcile"], serde_json::json!([]));
    assert!(json["rss"]["peak_bytes"].is_null() && json["rss"]["at_peak_bytes"].is_null());
    let file = folder.store("x.timeline.json", &timeline);
    let text = viewer(&["summary", &file]).out;
    assert!(text.contains("RSS, highest       unavailable"), "{text}");
    assert!(text.contains("gpu: unavailable: no NVIDIA driver"), "{text}");
    let text = viewer(&["reconcile", &file]).out;
    assert!(text.contains("unavailable: /proc could not be read"), "{text}");
}

#[test]
fn losses_are_told() {
    let folder = Folder::new();
    let mut timeline = nets::stem();
    timeline.tracker.dropped_events = Some(1234);
    timeline.tracker.losses.push("the disk was full for 2 s".into());
    let file = folder.store("x.timeline.json", &timeline);
    let text = viewer(&["summary", &file]).out;
    assert!(text.contains("1,234 events could not be put into order"), "{text}");
    assert!(text.contains("the disk was full for 2 s"), "{text}");
}

#[test]
fn reconcile_prints_the_book_as_json() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &nets::stem());
    let answer = viewer(&["reconcile", &file, "--json"]);
    let json: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(json["book"]["lines"].as_array().unwrap().last().unwrap()["name"], "unexplained");
    assert_eq!(json["lanes"][0]["name"], "rss");
}
