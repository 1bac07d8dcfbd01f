//! Real runs of the binary: the loss falls, runs can be repeated, the comparison runs each in its own process, Ctrl-C
//! keeps the timeline.
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use crate::common::{Ran, command, small_data, text, trainer};
use alloc_timeline::{Ending, Timeline};
use serde_json::Value;

/// The repository's slice of Fashion-MNIST; tests run in the package's folder.
const FIXTURE: &str = "../fixtures/fashion-mnist";

/// The repository's documentation: texts.
const TEXTS: &str = "../docs";

#[track_caller]
fn fine(ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

fn losses(ran: &Ran) -> Vec<f64> {
    assert_eq!(ran.stdout.lines().count(), 1, "one line of JSON and nothing else: {}", ran.stdout);
    let times: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    times["loss"].as_array().expect("a list").iter().map(|loss| loss.as_f64().expect("a number")).collect()
}

fn load(path: &Path) -> Timeline {
    alloc_timeline::load(path).expect("a timeline")
}

/// 8 steps of 16 images of 10 classes. An untrained network of 1000 classes starts at about ln 1000 = 6.9; knowing no
/// more than that there are 10 would be ln 10 = 2.3.
#[test]
fn the_loss_falls_on_real_images() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("a.timeline.json");
    let args = ["train", "--model", "resnet18", "--data", FIXTURE, "--batch", "16", "--steps", "8", "--json-times"];
    let ran = trainer(&[&args[..], &["--image-size", "64", "--threads", "1", "--out", text(&out)]].concat());
    fine(&ran);
    let losses = losses(&ran);
    assert_eq!(losses.len(), 8);
    assert!((6.0..8.5).contains(&losses[0]), "{losses:?}");
    assert!(losses[7] < losses[0] / 2.0, "{losses:?}");
    assert!(ran.stderr.contains("step 8/8"), "with --json-times the lines go to stderr: {}", ran.stderr);
}

/// 12 steps of the language model over this project's own documentation, with Adam: an untrained one of 128 characters starts
/// at about ln 128 = 4.85, and knowing how often each character stands alone takes it far below that.
#[test]
fn the_loss_falls_on_real_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("a.timeline.json");
    let args = [
        "train",
        "--model",
        "lstm",
        "--data",
        TEXTS,
        "--batch",
        "16",
        "--length",
        "32",
        "--steps",
        "12",
        "--json-times",
    ];
    let ran =
        trainer(&[&args[..], &["--optimizer", "adam", "--lr", "0.01", "--threads", "1", "--out", text(&out)]].concat());
    fine(&ran);
    let losses = losses(&ran);
    assert!((4.5..5.2).contains(&losses[0]), "{losses:?}");
    assert!(losses[11] < losses[0] - 1.0, "{losses:?}");
    let timeline = load(&out);
    for (fact, value) in [("length", 32), ("classes", 128), ("batch", 16), ("parameters", 694_528)] {
        assert_eq!(timeline.run[fact], value, "{fact}");
    }
    assert_eq!(timeline.run["data"], TEXTS);
    assert!(!timeline.run.contains_key("image_size"), "a text has none");
}

/// Every network that reads texts, in training and in inference.
#[test]
fn texts_through_every_network() {
    for (model, length) in [("lstm", "6"), ("seq2seq", "6"), ("bert_tiny", "6"), ("char_cnn", "1014")] {
        for mode in ["train", "infer"] {
            let args = [mode, "--model", model, "--data", TEXTS, "--batch", "2", "--length", length, "--steps", "2"];
            let ran = trainer(&[&args[..], &["--threads", "1", "--track", "off", "--json-times"]].concat());
            fine(&ran);
            assert_eq!(losses(&ran).len(), if mode == "train" { 2 } else { 0 }, "{model} {mode}");
        }
    }
}

/// Two turns of three are given; each is answered with the step's two clocks, and the end of stdin ends the run.
#[test]
fn a_run_waits_for_its_turns() {
    let data = small_data(16);
    let mut command =
        command(&["train", "--model", "mobilenet_v1", "--data", text(data.path()), "--batch", "4", "--steps", "3"]);
    command.args(["--image-size", "33", "--threads", "1", "--track", "off", "--take-turns"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a child");
    let mut turns = child.stdin.take().expect("piped");
    let mut answers = BufReader::new(child.stdout.take().expect("piped")).lines();
    for _ in 0..2 {
        turns.write_all(b"\n").expect("it waits");
        let answer = answers.next().expect("an answer").expect("UTF-8");
        let clocks: Vec<u64> = answer.split(' ').map(|clock| clock.parse().expect("nanoseconds")).collect();
        assert!(matches!(clocks[..], [wall, cpu] if wall > 0 && cpu > 0), "{answer}");
    }
    drop(turns);
    assert!(answers.next().is_none());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn one_seed_one_run() {
    let data = small_data(16);
    let run = |seed| {
        let args = ["train", "--model", "mobilenet_v1", "--data", text(data.path()), "--batch", "4", "--steps", "3"];
        let more = ["--image-size", "33", "--threads", "1", "--track", "off", "--json-times", "--seed", seed];
        let ran = trainer(&[&args[..], &more].concat());
        fine(&ran);
        losses(&ran)
    };
    assert_eq!(run("7"), run("7"), "bit for bit");
    assert_ne!(run("7"), run("8"));
}

/// Tracking off is the same binary and the same arithmetic, and leaves no file.
#[test]
fn tracking_changes_no_number() {
    let data = small_data(8);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("a.timeline.json");
    let run = |track| {
        let args = ["train", "--model", "resnet18", "--data", text(data.path()), "--batch", "2", "--steps", "2"];
        let more = ["--image-size", "33", "--threads", "1", "--out", text(&out), "--json-times", "--track", track];
        let ran = trainer(&[&args[..], &more].concat());
        fine(&ran);
        losses(&ran)
    };
    let off = run("off");
    assert!(!out.exists(), "no session, no file");
    assert_eq!(run("on"), off);
    assert!(out.exists());
}

#[test]
fn a_timeline_says_what_ran() {
    let data = small_data(8);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("a.timeline.json");
    let args = ["infer", "--model", "mobilenet_v1", "--data", text(data.path()), "--batch", "3", "--steps", "2"];
    fine(&trainer(&[&args[..], &["--image-size", "40", "--threads", "1", "--out", text(&out)]].concat()));
    let timeline = load(&out);
    assert_eq!(timeline.ending, Ending::Finished);
    assert_eq!(timeline.steps.len(), 2);
    for (fact, value) in [("model", "mobilenet_v1"), ("mode", "infer")] {
        assert_eq!(timeline.run[fact], value);
    }
    for (fact, value) in [("batch", 3), ("image_size", 40), ("steps", 2), ("threads", 1), ("parameters", 4_231_976)] {
        assert_eq!(timeline.run[fact], value, "{fact}");
    }
}

#[test]
fn compare_runs_each_in_its_own_process() {
    let data = small_data(8);
    let folder = tempfile::tempdir().expect("a folder");
    let args = ["compare", "--data", text(data.path()), "--batch", "2", "--steps", "2", "--image-size", "40"];
    let ran = trainer(&[&args[..], &["--threads", "1", "--out", text(folder.path())]].concat());
    fine(&ran);
    let rows: Vec<&str> = ran.stdout.lines().skip(2).collect();
    assert_eq!(rows.len(), 4, "{}", ran.stdout);
    let mut pids = std::collections::BTreeSet::new();
    for (row, (model, mode)) in rows.iter().zip([
        ("mobilenet_v1", "train"),
        ("mobilenet_v1", "infer"),
        ("resnet18", "train"),
        ("resnet18", "infer"),
    ]) {
        assert!(row.starts_with(model) && row.contains(mode), "{row}");
        let timeline = load(&folder.path().join(format!("{model}-{mode}.timeline.json")));
        let peak = format!("{:.1} MB", timeline.peak.live_bytes as f64 / 1e6);
        assert!(row.contains(&peak), "{row} has the timeline's {peak}");
        pids.insert(timeline.run["pid"].to_string());
    }
    assert_eq!(pids.len(), 4, "a process each");
}

/// Ctrl-C after the second step of many: the file is whole, says that it was interrupted, and the exit code is the
/// shells' 130. SIGTERM does the same.
#[test]
fn an_interrupt_keeps_the_timeline() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let data = small_data(8);
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("a.timeline.json");
        let args = ["train", "--model", "resnet18", "--data", text(data.path()), "--batch", "2", "--steps", "100000"];
        let more = ["--image-size", "33", "--threads", "1", "--out", text(&out), "--json-times"];
        let mut child = command(&[&args[..], &more].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let second = lines.by_ref().map_while(Result::ok).find(|line| line.starts_with("step 2/"));
        assert!(second.is_some(), "it trains until it is told not to");
        // SAFETY: kill takes two numbers and touches no memory; the child has not been waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        assert_eq!(child.wait().expect("it ends").code(), Some(130), "{rest:?}");
        assert!(rest.iter().any(|line| line.starts_with("interrupted: finishing the step")), "{rest:?}");
        let timeline = load(&out);
        assert_eq!(timeline.ending, Ending::Interrupted);
        assert!((2..100_000).contains(&timeline.steps.len()));
    }
}

/// `trainer ... | head -0`: training goes on to its end, and the timeline is written.
#[test]
fn a_reader_that_goes_away_ends_nothing() {
    let data = small_data(8);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("a.timeline.json");
    let args = ["train", "--model", "resnet18", "--data", text(data.path()), "--batch", "2", "--steps", "2"];
    let mut child = command(&[&args[..], &["--image-size", "33", "--threads", "1", "--out", text(&out)]].concat())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(load(&out).steps.len(), 2);
}

/// The numbers that the end-to-end test compares the measurement with.
#[test]
fn plan_prints_json() {
    let ran = trainer(&["plan", "--model", "resnet18", "--batch", "2", "--image-size", "97", "--json"]);
    fine(&ran);
    let plan: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(plan["parameters"], 11_689_512);
    assert_eq!(plan["saved_for_backward"]["conv1"], 2 * 64 * 49 * 49 * 4);
}
