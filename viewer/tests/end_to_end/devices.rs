//! The memory of devices in text, JSON, pictures and the report: for the timeline with measured devices that is shipped as a
//! golden file, and for a run on a machine without a GPU.
use std::path::Path;

use crate::common::books::with_books;
use crate::common::{Folder, nets, viewer};
use serde_json::{Value, json};

const GOLDEN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../alloc-tracker/timeline/tests/golden/v1-devices.timeline.json");

/// The devices of the golden file in a run that has books, so that all of it can be drawn.
fn run(folder: &Folder) -> String {
    let golden = alloc_timeline::load(Path::new(GOLDEN)).unwrap();
    let mut timeline = with_books(nets::stem());
    timeline.devices = golden.devices;
    timeline.device_predictions = golden.device_predictions;
    folder.store("stem-train.timeline.json", &timeline)
}

fn as_json(command: &str, file: &str) -> Value {
    let answer = viewer(&[command, file, "--json"]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    serde_json::from_str(&answer.out).unwrap()
}

#[test]
fn the_account_of_a_device_follows_that_of_the_process() {
    let folder = Folder::new();
    let text = viewer(&["reconcile", &run(&folder)]).out;
    let from = text.find("Account of cuda:0").unwrap_or_else(|| panic!("{text}"));
    assert!(text.find("From the resident set to the limit").is_some_and(|host| host < from), "{text}");
    let to = text.find("Figures from outside").unwrap_or(text.len());
    insta::assert_snapshot!(&text[from..to]);
}

#[test]
fn the_summary_has_the_prediction_beside_what_was_measured() {
    let folder = Folder::new();
    let text = viewer(&["summary", &run(&folder)]).out;
    let from = text.find("Memory of devices").unwrap_or_else(|| panic!("{text}"));
    let to = text.find("\nAlive at exit\n").unwrap_or(text.len());
    insta::assert_snapshot!(&text[from..to]);
}

/// Whoever has a GPU sees first who owns its memory, beside the process's.
#[test]
fn the_owners_of_a_devices_peak_follow_those_of_the_process() {
    let folder = Folder::new();
    let answer = viewer(&[&run(&folder)]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    let from = answer.out.find("\nWho owns the peak of ").unwrap_or_else(|| panic!("{}", answer.out));
    assert!(answer.out.find("Who owns the peak\n").is_some_and(|process| process < from), "{}", answer.out);
    let lines: Vec<&str> = answer.out[from + 1..].lines().take(5).collect();
    assert_eq!(lines[0], "Who owns the peak of cuda:0, 512 B", "the other device has no peak");
    let words: Vec<&str> = lines[3].split_whitespace().collect();
    assert_eq!(words, ["conv1", "init", "aten::empty", "activation", "512", "100.0", "%"]);
}

#[test]
fn json_has_each_device_and_its_splits_sum() {
    let folder = Folder::new();
    let file = run(&folder);
    for command in ["summary", "reconcile"] {
        let json = as_json(command, &file);
        let [measured, unknown] = [&json["devices"][0], &json["devices"][1]];
        assert_eq!(
            (&measured["device"], &measured["reserved_bytes"]),
            (&json!("cuda:0"), &json!(2 << 20)),
            "{command}"
        );
        assert_eq!(measured["peak"]["allocated_bytes"], 512);
        for split in ["by_phase", "by_layer", "by_op", "by_category"] {
            let parts = measured["peak"][split].as_object().unwrap();
            assert_eq!(parts.values().map(|bytes| bytes.as_u64().unwrap()).sum::<u64>(), 512, "{split}");
        }
        assert_eq!(
            measured["book"][3],
            json!({
                "name": "other processes", "bytes": null, "total": false, "source": "a driver"
            })
        );
        assert_eq!((&unknown["peak"], &unknown["reserved_bytes"]), (&Value::Null, &Value::Null));
        assert_eq!(unknown["source"], "unavailable: a reason");
        assert_eq!(json["device_predictions"][0]["reserved_bytes"], 2 << 20);
        assert_eq!(json.get("devices_unavailable"), None);
    }
}

#[test]
fn pictures_and_the_report_have_the_device_too() {
    let folder = Folder::new();
    let (file, picture, page) = (run(&folder), folder.path("book.svg"), folder.path("r.html"));
    assert_eq!(viewer(&["reconcile", &file, "--svg", picture.to_str().unwrap()]).code, 0);
    assert!(folder.text("book.svg").contains(">Account of cuda:0, a GPU, at 9 ns</text>"));
    assert_eq!(viewer(&["report", &file, "-o", page.to_str().unwrap()]).code, 0);
    let page = folder.text("r.html");
    for part in [
        "Memory of devices",
        "measured, cuda:0, a GPU",
        "predicted, expandable_segments:True",
        "Peak of cuda:0 by layer",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("Account of cuda:1: unavailable: a reason"));
    // One picture has the devices, and that of the process has them not.
    assert_eq!(page.matches(">Account of cuda:0, a GPU, at 9 ns</text>").count(), 1);
}

#[test]
fn without_a_device_every_output_says_unavailable_and_why() {
    let folder = Folder::new();
    let file = folder.store("stem.timeline.json", &with_books(nets::stem()));
    let reason = "unavailable: no NVIDIA driver";
    for command in ["summary", "reconcile"] {
        let text = viewer(&[command, &file]).out;
        assert!(text.contains(&format!("evices\n  {reason}")), "{command}\n{text}");
        let json = as_json(command, &file);
        assert_eq!(json["devices"], json!([]));
        assert!(json["devices_unavailable"].as_str().is_some_and(|why| why.starts_with(reason)), "{json}");
    }
    let page = folder.path("r.html");
    assert_eq!(viewer(&["report", &file, "-o", page.to_str().unwrap()]).code, 0);
    assert!(folder.text("r.html").contains(&format!("Measured: {reason}")));
}
