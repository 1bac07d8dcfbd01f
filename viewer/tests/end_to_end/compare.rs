//! `viewer compare` and `viewer diff`.
use crate::common::{Folder, nets, viewer};
use alloc_timeline::Category;
use serde_json::Value;

/// The first paragraph in one line: it is broken where the terminal ends.
fn first_sentence(text: &str) -> String {
    let lines: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    lines.join(" ")
}

#[test]
fn the_sentence_says_which_is_larger_and_why() {
    let folder = Folder::new();
    let mobilenet = folder.store("mobilenet_v1-train.timeline.json", &nets::mobilenet());
    let resnet = folder.store("resnet18-train.timeline.json", &nets::resnet18());
    let answer = viewer(&["compare", &mobilenet, &resnet]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    let first = first_sentence(&answer.out);
    assert!(first.starts_with("resnet18-train holds ") && first.contains(" less than mobilenet_v1-train"), "{first}");
    assert!(first.contains("most of it is activation"), "{first}");
    // A layer that only one of the runs has is blank for the other run, so its line has one number less.
    let line = answer.out.lines().find(|line| line.starts_with("blocks.0.pointwise.conv")).unwrap();
    assert_eq!(line.split_whitespace().count(), 3, "{line}");
}

#[test]
fn two_movements_that_nearly_cancel_are_both_named() {
    let folder = Folder::new();
    let mut timeline = nets::resnet18();
    for (row, by) in [(Category::Activation, -1_000_000), (Category::Gradient, 1_004_096)] {
        let row = timeline.peak.rows.iter_mut().filter(|r| r.category == row).max_by_key(|r| r.usable_bytes).unwrap();
        row.usable_bytes = row.usable_bytes.checked_add_signed(by).unwrap();
        timeline.peak.live_bytes = timeline.peak.live_bytes.checked_add_signed(by).unwrap();
    }
    let before = folder.store("before.timeline.json", &nets::resnet18());
    let after = folder.store("after.timeline.json", &timeline);
    let text = viewer(&["compare", &before, &after]).out;
    let first = first_sentence(&text);
    assert!(first.starts_with("after holds 4.0 KiB (<0.1 %) more than before"), "{first}");
    assert!(
        first.contains("gradient adds the most (+980.6 KiB), activation takes the most away (-976.6 KiB)"),
        "{first}"
    );
}

#[test]
fn the_json_has_a_column_a_file_and_differences_to_the_first() {
    let folder = Folder::new();
    let files = [
        folder.store("mobilenet_v1-train.timeline.json", &nets::mobilenet()),
        folder.store("resnet18-train.timeline.json", &nets::resnet18()),
        folder.store("stem.timeline.json", &nets::stem()),
    ];
    let answer = viewer(&["compare", &files[0], &files[1], &files[2], "--json"]);
    let json: Value = serde_json::from_str(&answer.out).unwrap();
    let peaks: Vec<i64> =
        json["files"].as_array().unwrap().iter().map(|file| file["peak"]["live_bytes"].as_i64().unwrap()).collect();
    let expected: Vec<i64> = peaks.iter().map(|peak| peak - peaks[0]).collect();
    assert_eq!(json["differences"]["live_bytes"], serde_json::json!(expected));
    for split in ["by_phase", "by_layer", "by_op", "by_category"] {
        let table = json["differences"][split].as_object().unwrap();
        for (index, difference) in expected.iter().enumerate() {
            let sum: i64 = table.values().map(|row| row[index].as_i64().unwrap()).sum();
            assert_eq!(sum, *difference, "{split} of file {index}");
        }
    }
    assert_eq!(json["files"][1]["model"], "resnet18");
    assert!(json["files"][1]["rss_peak_bytes"].is_u64() && json["files"][1]["batch"] == 8);
}

#[test]
fn diff_shows_only_what_changed() {
    let folder = Folder::new();
    let before = folder.store("before/x.timeline.json", &nets::resnet18());
    let mut timeline = nets::resnet18();
    let row = timeline.peak.rows.iter_mut().max_by_key(|row| row.usable_bytes).unwrap();
    row.usable_bytes += 4096;
    timeline.peak.live_bytes += 4096;
    let after = folder.store("after/x.timeline.json", &timeline);
    let text = viewer(&["diff", &before, &after]).out;
    assert!(text.contains("after/x holds 4.0 KiB"), "{text}");
    assert_eq!(text.matches("+4,096").count(), 5, "the total and one line of each split\n{text}");
    let same = viewer(&["diff", &before, &before]).out;
    assert!(same.contains("peak at the same") && same.matches("no difference").count() == 4, "{same}");
    let json: Value = serde_json::from_str(&viewer(&["diff", &before, &after, "--json"]).out).unwrap();
    assert_eq!(json["differences"]["by_category"].as_object().unwrap().len(), 1);
}
