//! `viewer recover`: it turns a log into the timeline that the recorder would have written.
mod common;

use alloc_timeline::{Ending, Record, Snapshot};
use common::{Folder, viewer};
use std::path::Path;

fn log(end: bool) -> String {
    let start = r#"{"start":{"format_version":1,"run":{"model":"lenet","mode":"train"},"machine":{"os":"linux","arch":"x86_64","kernel":"6","cpu":"c","cpus":2,"page_bytes":4096,"memory_bytes":1},"allocator":{"backend":"jemalloc","version":"5","config":{},"doors":["c"]},"interval_ns":10}}"#;
    let mut lines = vec![
        start.to_owned(),
        r#"{"scope":{"phase":"","layer":"","op":""}}"#.to_owned(),
        r#"{"sample":{"time_ns":10,"live_bytes":64,"requested_bytes":60,"high_bytes":64,"rows":[[0,"other",64]],"probes":[["rss",4096]]}}"#.to_owned(),
        r#"{"peak":{"time_ns":12,"live_bytes":128,"requested_bytes":120,"slack_bytes":0,"rows":[{"scope":0,"category":"other","usable_bytes":128,"requested_bytes":120,"blocks":2}]}}"#.to_owned(),
    ];
    if end {
        lines.push(serde_json::to_string(&Record::End { time_ns: 20, ending: Ending::Finished }).unwrap());
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_log_becomes_a_timeline_beside_it() {
    let folder = Folder::new();
    let path = folder.write("x.log", log(true));
    let answer = viewer(&["recover", &path]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    let timeline = alloc_timeline::load(folder.path("x.timeline.json")).unwrap();
    assert_eq!((timeline.ending, timeline.peak.live_bytes), (Ending::Finished, 128));
    assert!(answer.out.contains("from 5 records"), "{}", answer.out);
    assert_eq!(viewer(&["summary", folder.path("x.timeline.json").to_str().unwrap()]).code, 0);
}

#[test]
fn a_killed_process_loses_only_its_last_line() {
    let folder = Folder::new();
    let path = folder.write("x.log", log(false) + r#"{"sample":{"time_ns":20,"li"#);
    let out = folder.path("r.timeline.json");
    let answer = viewer(&["recover", &path, "-o", out.to_str().unwrap()]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.out.contains("skipped the last 27 of"), "{}", answer.out);
    let timeline = alloc_timeline::load(&out).unwrap();
    assert_eq!((timeline.ending, timeline.series.time_ns.len()), (Ending::Recovered, 1));
    assert_eq!(timeline.tracker.losses.len(), 1);
}

#[test]
fn what_is_no_log_is_refused_and_nothing_is_written() {
    let folder = Folder::new();
    let cases = [
        ("empty.log", String::new(), "empty"),
        ("text.log", "hello\n".to_owned(), "not a recorder's log"),
        ("headless.log", log(true).lines().skip(1).collect::<Vec<_>>().join("\n"), "no start"),
        ("newer.log", log(true).replace("\"format_version\":1", "\"format_version\":99"), "newer"),
    ];
    for (name, text, said) in cases {
        let path = folder.write(name, text);
        let answer = viewer(&["recover", &path]);
        assert_eq!(answer.code, 2, "{name}");
        assert!(answer.err.contains(said) && answer.err.contains(name), "{}", answer.err);
        assert!(!Path::new(&path).with_extension("timeline.json").exists());
    }
    assert_eq!(viewer(&["recover", "no-such.log"]).code, 2);
}

#[test]
fn records_that_contradict_each_other_are_not_written() {
    let folder = Folder::new();
    let wrong = Record::Peak(Snapshot { live_bytes: 5, ..Snapshot::default() });
    let path = folder.write("x.log", log(false) + &serde_json::to_string(&wrong).unwrap() + "\n");
    let answer = viewer(&["recover", &path]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("do not sum to its live_bytes"), "{}", answer.err);
    assert!(!folder.path("x.timeline.json").exists());
}

#[test]
fn nothing_is_overwritten_unasked() {
    let folder = Folder::new();
    let path = folder.write("x.log", log(true));
    folder.write("x.timeline.json", "precious");
    let answer = viewer(&["recover", &path]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("is there already"), "{}", answer.err);
    assert_eq!(viewer(&["recover", &path, "-o", &path]).code, 2);
    assert_eq!(folder.text("x.timeline.json"), "precious");
    assert!(folder.text("x.log").starts_with("{\"start\""));
}

#[test]
fn a_log_given_as_a_timeline_is_recognised() {
    let folder = Folder::new();
    let path = folder.write("x.log", log(true));
    let answer = viewer(&["summary", &path]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("viewer recover"), "{}", answer.err);
}

#[test]
fn a_timeline_that_was_not_finished_leads_to_its_log() {
    let folder = Folder::new();
    let log = folder.write("x.timeline.json.log", log(false));
    for content in [None, Some(""), Some("{\"format\":")] {
        if let Some(content) = content {
            folder.write("x.timeline.json", content);
        }
        let answer = viewer(&["summary", folder.path("x.timeline.json").to_str().unwrap()]);
        assert_eq!(answer.code, 2);
        assert!(answer.err.contains(&format!("viewer recover {log}")), "{}", answer.err);
    }
    std::fs::remove_file(folder.path("x.timeline.json")).unwrap();
    assert_eq!(viewer(&["recover", &log]).code, 0);
    assert!(folder.path("x.timeline.json").is_file());
}
