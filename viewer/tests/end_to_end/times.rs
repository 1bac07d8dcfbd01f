//! Self times and the parts of steps: `viewer times`, `viewer steps`, the columns beside bytes, and the picture of both.
use std::path::Path;

use crate::common::times::with_step_times;
use crate::common::{Folder, nets, viewer};
use alloc_timeline::Timeline;
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

/// The commands that have tables with layers.
const WITH_LAYERS: [&[&str]; 9] = [
    &[],
    &["summary"],
    &["owners"],
    &["growth"],
    &["leaks"],
    &["unread"],
    &["stacks", "--of", "peak"],
    &["stacks", "--of", "allocated"],
    &["stacks", "--of", "growth"],
];

/// A file of the writer's golden ones: every field holds something.
fn full() -> Timeline {
    let path = "../alloc-tracker/timeline/tests/golden/v1-step-times.timeline.json";
    alloc_timeline::load(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a golden file")
}

/// The heads of all tables in a text: the lines between the empty line or the title before each table and its rule, as one.
fn heads(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let is_rule = |line: &str| line.starts_with('\u{2500}');
    let mut heads = Vec::new();
    let mut inside = false;
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| is_rule(line)) {
        if !inside {
            // A head has at most four lines; its first begins at the margin.
            let first = (index.saturating_sub(4)..index).rev().find(|&line| !lines[line].starts_with(' '));
            heads.push(lines[first.unwrap_or(index)..index].join(" "));
        }
        inside = !inside;
        assert!(!line.is_empty());
    }
    heads
}

#[test]
fn every_table_with_layers_has_times_and_energy_beside_its_bytes() {
    let folder = Folder::new();
    let (timed, plain) = (full(), Timeline { step_times: Vec::new(), utilisation: None, energy: None, ..full() });
    let file = folder.store("full.timeline.json", &timed);
    let plain = folder.store("plain.timeline.json", &plain);
    let out = folder.path("pictures");
    for command in WITH_LAYERS {
        let draw = ["--out", out.to_str().expect("UTF-8")];
        let args = |file| [command, &[file], if command.is_empty() { &draw[..] } else { &[] }].concat();
        let (with, without) = (answer(&args(&file)), answer(&args(&plain)));
        let is_of_layers = |head: &&String| {
            ["layer", "owner", "made by", "made in", "scope"]
                .iter()
                .any(|name| head.split("  ").any(|cell| cell.trim() == *name))
        };
        let tables = heads(&with);
        assert!(tables.iter().any(|head| is_of_layers(&head)), "{command:?}\n{with}");
        for head in tables.iter().filter(is_of_layers) {
            let has = |words: &str| words.split(' ').all(|word| head.contains(word));
            let times = has("forward backward ms") || has("self ms") || has("time cores used");
            assert!(times, "{command:?}: {head}\n{with}");
        }
        let says = ["self ms", "forward ms"].map(|words| without.contains(words));
        assert_eq!(says, [false; 2], "{command:?}\n{without}");
    }
    for command in WITH_LAYERS.iter().filter(|command| !matches!(command, [] | ["summary"])) {
        let costs = json(&[command, &[file.as_str(), "--json"][..]].concat())["layer_costs"].clone();
        assert!(costs["basis"]["steps"].as_u64() > Some(0), "{command:?}: {costs}");
        let layers = costs["by_layer"].as_object().expect("layers").values();
        let sum: u64 = layers.map(|cost| cost["self_ns"].as_u64().expect("a number")).sum();
        assert_eq!(json(&["times", &file, "--json"])["self_ns"], sum, "{command:?}");
        assert!(costs["by_layer"]["layer1.0.conv1"]["energy_uj"].is_object(), "{costs}");
        let without = json(&[command, &[plain.as_str(), "--json"][..]].concat());
        assert!(without.get("layer_costs").is_none(), "{command:?}");
    }
}

#[test]
fn the_tables_of_the_page_have_them_too() {
    let folder = Folder::new();
    let file = folder.store("full.timeline.json", &full());
    let html = folder.path("page.html");
    answer(&["report", &file, "--output", html.to_str().expect("UTF-8")]);
    let page = folder.text("page.html");
    assert!(page.contains("Who costs memory, who costs time"));
    let heads = page.split("<thead>").skip(1).filter_map(|rest| rest.split_once("</thead>")).map(|(head, _)| head);
    let of_layers = heads.filter(|head| {
        ["layer", "owner", "made by", "made in", "scope"].iter().any(|name| head.contains(&format!(">{name}</th>")))
    });
    let of_layers: Vec<&str> = of_layers.collect();
    assert!(of_layers.len() > 8, "{of_layers:?}");
    for head in of_layers {
        assert!([">self ms<", ">forward ms<", ">cores used<"].iter().any(|words| head.contains(words)), "{head}");
    }
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
