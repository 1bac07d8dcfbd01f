//! `viewer recover`: it turns a log into the timeline that the recorder would have written.
use crate::common::{Folder, viewer};
use alloc_timeline::{Ending, Record, Snapshot};
use serde_json::{Value, json};
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

/// What a killed recorder leaves is cut short as a timeline would be, but it is no timeline; and a timeline is no log.
#[test]
fn a_log_and_a_timeline_are_told_apart() {
    let folder = Folder::new();
    let path = folder.write("my x.json.log", log(false) + r#"{"sample":{"time_ns":20,"li"#);
    let answer = viewer(&["summary", &path]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains(&format!("viewer recover '{path}'")), "{}", answer.err);
    assert_eq!(viewer(&["recover", &path]).code, 0);
    let timeline = folder.path("my x.json");
    let answer = viewer(&["recover", timeline.to_str().unwrap()]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("is a timeline, and no log"), "{}", answer.err);
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

/// A folder has a good log, one cut short, one that is none, one whose timeline is there already, and files that are no logs.
#[test]
fn several_logs_and_folders_are_recovered_at_once() {
    let folder = Folder::new();
    folder.write("runs/a.timeline.json.log", log(true));
    folder.write("runs/b.timeline.json.log", log(false) + r#"{"sample":{"time_ns":20,"li"#);
    folder.write("runs/notes.log", "what the program printed\n");
    folder.write("runs/old.timeline.json", "precious");
    let alone = folder.write("c.log", log(false));
    let runs = folder.path("runs");
    let answer = viewer(&["recover", runs.to_str().unwrap(), &alone]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{}", answer.out);
    assert_eq!(answer.out.lines().last(), Some("recovered 3 logs"));
    for name in ["runs/a.timeline.json", "runs/b.timeline.json", "c.timeline.json"] {
        assert_eq!(alloc_timeline::load(folder.path(name)).unwrap().peak.live_bytes, 128, "{name}");
    }
    assert_eq!(folder.text("runs/old.timeline.json"), "precious");
}

#[test]
fn what_cannot_be_recovered_is_named_and_the_others_are_written() {
    let folder = Folder::new();
    let good = folder.write("runs/a.timeline.json.log", log(true));
    folder.write("runs/empty.timeline.json.log", "");
    folder.write("runs/there.timeline.json.log", log(true));
    folder.write("runs/there.timeline.json", "precious");
    let runs = folder.path("runs");
    let runs = runs.to_str().unwrap();
    let nothing = folder.path("nothing");
    std::fs::create_dir(&nothing).unwrap();
    let answer = viewer(&["recover", runs, "no-such.log", nothing.to_str().unwrap()]);
    assert_eq!(answer.code, 2);
    assert!(folder.path("runs/a.timeline.json").is_file() && folder.text("runs/there.timeline.json") == "precious");
    let last = folder.neutral(answer.out.lines().last().unwrap());
    assert_eq!(
        last,
        "recovered 1 log; could not recover DIR/runs/empty.timeline.json.log, \
         DIR/runs/there.timeline.json.log, no-such.log, DIR/nothing"
    );
    for said in ["the log is empty", "is there already", "no-such.log: cannot be read", "there is no recorder's log"] {
        assert!(answer.err.contains(said), "{said}: {}", answer.err);
    }
    assert!(answer.err.lines().all(|line| line.starts_with("viewer: ")), "{}", answer.err);
    let answer = viewer(&["recover", &good, &good, "-o", "x"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("-o is the name of one timeline"), "{}", answer.err);
    assert_eq!(viewer(&["recover", nothing.to_str().unwrap()]).code, 2);
}

/// The sample of 10 ns has a resident set; what is live at exit, and what the tracker cost, nobody wrote down.
#[test]
fn a_recovered_timeline_says_what_is_not_known() {
    let folder = Folder::new();
    let path = folder.write("x.log", log(false));
    assert_eq!(viewer(&["recover", &path]).code, 0);
    let file = folder.path("x.timeline.json");
    let file = file.to_str().unwrap();
    let summary: Value = serde_json::from_str(&viewer(&["summary", file, "--json"]).out).unwrap();
    assert_eq!(summary["rss"], json!({ "peak_bytes": 4096, "at_peak_bytes": 4096 }));
    for unknown in ["/totals/live_at_exit_bytes", "/alive_at_exit", "/tracker/overhead_bytes", "/tracker/foreign_frees"]
    {
        assert_eq!(summary.pointer(unknown), Some(&Value::Null), "{unknown}");
    }
    let text = viewer(&["summary", file]).out;
    let not_known = "not known: the recording did not reach its end";
    for name in ["tracker's own", "alive at exit"] {
        assert!(text.contains(&format!("  {name:<18} {not_known}\n")), "{text}");
    }
    assert!(text.contains("RSS, highest                  4,096 bytes"), "{text}");
    assert!(viewer(&["leaks", file]).out.contains(&format!("Live at exit: {not_known}\n")));
    let leaks: Value = serde_json::from_str(&viewer(&["leaks", file, "--json"]).out).unwrap();
    assert_eq!(leaks, json!({ "live_bytes": null, "requested_bytes": null, "owners": null }));
    let page = folder.path("page.html");
    assert_eq!(viewer(&["report", file, "-o", page.to_str().unwrap()]).code, 0);
    assert!(folder.text("page.html").contains(&format!("What was live at exit is {not_known}.")));
    for command in
        [&["owners"][..], &["growth"], &["unread"], &["stacks"], &["power"], &["reconcile"], &["compare", file]]
    {
        assert_eq!(viewer(&[command, &[file]].concat()).code, 0, "{command:?}");
    }
}
