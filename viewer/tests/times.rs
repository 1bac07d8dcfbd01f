//! Self times and the parts of steps: `viewer times`, `viewer steps`, the columns beside bytes, and the picture of both.
mod common;

use common::times::with_step_times;
use common::{Folder, nets, viewer};
use serde_json::Value;

fn answer(args: &[&str]) -> String {
    let answer = viewer(args);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{args:?}");
    answer.out
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&answer(args)).expect("JSON")
}

fn sum(rows: &Value, field: &str) -> u64 {
    rows.as_array().expect("rows").iter().map(|row| row[field].as_u64().expect("a number")).sum()
}

#[test]
fn times_by_phase_layer_operator_and_operation() {
    let folder = Folder::new();
    let file = folder.store("stem.timeline.json", &with_step_times(nets::stem(), 15));
    insta::assert_snapshot!(answer(&["times", &file, "--top", "4"]));
    let times = json(&["times", &file, "--json"]);
    assert_eq!(times["basis"]["steps"], 12, "three of fifteen are left out");
    for by in ["by_phase", "by_layer", "by_op", "by_operation"] {
        assert_eq!(sum(&times[by], "self_ns"), times["self_ns"].as_u64().expect("a number"), "{by}");
    }
    assert_eq!(json(&["times", &file, "--json", "--skip", "5"])["basis"]["first_step"], 6);
    assert_eq!(json(&["summary", &file, "--json"])["self_times"], times);
}

#[test]
fn the_parts_of_each_step_sum_to_it() {
    let folder = Folder::new();
    let file = folder.store("stem.timeline.json", &with_step_times(nets::stem(), 15));
    insta::assert_snapshot!(answer(&["steps", &file, "--top", "3"]));
    let steps = json(&["steps", &file, "--json"]);
    assert_eq!(steps["steps"].as_array().map(Vec::len), Some(15));
    for step in steps["steps"].as_array().expect("steps") {
        let parts = step["by_phase_ns"].as_array().expect("parts").iter();
        assert_eq!(parts.map(|ns| ns.as_u64().expect("a number")).sum::<u64>(), step["wall_ns"], "{step}");
    }
}

#[test]
fn without_times_it_says_how_to_get_them() {
    let folder = Folder::new();
    let mut timeline = nets::stem();
    timeline.utilisation = Some(Default::default());
    let plain = folder.store("plain.timeline.json", &timeline);
    for command in ["times", "steps"] {
        let answer = viewer(&[command, &plain]);
        assert_eq!(answer.code, 2);
        assert!(answer.err.contains("ALLOC_TRACKER_TIMES=on") && answer.err.contains("plain"), "{}", answer.err);
        let timed = folder.store("timed.timeline.json", &with_step_times(nets::stem(), 4));
        let answer = viewer(&[command, &timed, "--skip", "4"]);
        assert_eq!(answer.code, 2);
        assert!(answer.err.contains("the run has 4 steps, and the first 4 are to be left out"), "{}", answer.err);
    }
    // Nothing else says anything about times.
    let out = answer(&["summary", &plain]) + &answer(&["owners", &plain]) + &answer(&["compare", &plain, &plain]);
    assert!(!out.contains("self ms") && !out.contains("Self time"), "{out}");
    assert!(json(&["summary", &plain, "--json"]).get("self_times").is_none());
}

#[test]
fn every_table_of_bytes_has_times_beside_them() {
    let folder = Folder::new();
    let file = folder.store("resnet.timeline.json", &with_step_times(nets::resnet18(), 3));
    for command in [&["summary"][..], &["owners"]] {
        let args: Vec<&str> = command.iter().copied().chain([file.as_str()]).collect();
        let text = answer(&args);
        let has = text.contains("self ms") && text.contains("self ms: time in the scopes of a name themselves");
        // A run without an analysis has no figures of owners.
        assert!(has || command == ["owners"] && text.contains("Not recorded"), "{command:?}\n{text}");
    }
    let html = folder.path("page.html");
    answer(&["report", &file, "--output", html.to_str().expect("UTF-8")]);
    let page = folder.text("page.html");
    assert!(page.contains("Who costs memory, who costs time") && page.contains("self ms"));
}

#[test]
fn runs_are_compared_by_time_as_well() {
    let folder = Folder::new();
    let resnet = folder.store("resnet18.timeline.json", &with_step_times(nets::resnet18(), 3));
    let mobilenet = folder.store("mobilenet_v1.timeline.json", &with_step_times(nets::mobilenet(), 3));
    let plain = folder.store("plain.timeline.json", &nets::resnet18());
    let text = answer(&["compare", &resnet, &mobilenet]);
    for words in ["Self time in milliseconds", "Self time by operation", "convolution", "batch norm", "steps 1 to 3"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let times = &json(&["compare", &resnet, &mobilenet, &plain, "--json"])["self_times"];
    let convolution = times["by_operation"]["convolution"].as_array().expect("a row");
    assert!(convolution[0].as_u64() > Some(0) && convolution[1].as_u64() > Some(0) && convolution[2].is_null());
    assert!(answer(&["compare", &resnet, &plain]).contains("plain: unavailable: no times were measured"));
}

#[test]
fn who_costs_memory_and_who_time_is_one_picture() {
    let folder = Folder::new();
    let timed = folder.store("stem.timeline.json", &with_step_times(nets::stem(), 5));
    let plain = folder.store("plain.timeline.json", &nets::stem());
    answer(&[&timed, &plain]);
    insta::assert_snapshot!(folder.text("stem.cost.svg"));
    assert!(!folder.path("plain.cost.svg").exists());
}
