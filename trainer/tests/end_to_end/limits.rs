//! Commands inside a limit of memory, and whether a run fits: the kernel's own limits on real runs. Where no control group
//! can be made, a test that needs one says that it was skipped, and why.
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::{Ran, command, small_data, text, trainer};
use alloc_timeline::Ending;
use serde_json::Value;

/// What kind of control group can be made here; without one, `None`, and the test's output says why.
fn group() -> Option<String> {
    let ran = trainer(&["run-limited", "--memory", "none", "--json", "--", "true"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let by = json(&ran)["rows"][0]["by"].as_str().expect("a word").to_owned();
    if by == "address-space" {
        let why = trainer(&["run-limited", "--memory", "none", "--", "true"]).stderr;
        eprintln!("SKIPPED: no control group can be made here: {why}");
        return None;
    }
    Some(by)
}

#[track_caller]
fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr))
}

/// The arguments of a training run of a few small steps.
fn training<'a>(data: &'a Path, out: &'a Path) -> Vec<&'a str> {
    let binary = env!("CARGO_BIN_EXE_trainer");
    let mut command =
        vec![binary, "train", "--model", "resnet18", "--batch", "4", "--image-size", "64", "--steps", "3"];
    command.extend(["--threads", "1", "--data", text(data), "--out", text(out)]);
    command
}

#[test]
fn the_commands_end_is_passed_on() {
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
        for means in ["auto", "address-space"] {
            let ran = trainer(&["run-limited", "--memory", "4G", "--by", means, "--", "sh", "-c", script]);
            assert_eq!(ran.code, Some(code), "{script} {means}: {}", ran.stderr);
        }
    }
    let ran = trainer(&["run-limited", "--memory", "none", "--", "echo", "hello"]);
    assert_eq!(ran.stdout, "hello\n", "stdout is the command's, the report goes to stderr");
    assert!(ran.stderr.contains("limit       none of memory, by "), "{}", ran.stderr);
}

#[test]
fn what_cannot_work_is_refused() {
    let refused = |args: &[&str], says: &str| {
        let ran = trainer(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{says:?} is missing in: {}", ran.stderr);
    };
    refused(&["run-limited", "--memory", "0", "--", "true"], "no program runs in no memory; give more, or none");
    refused(&["run-limited", "--memory", "lots", "--", "true"], "no number stands at its beginning");
    refused(&["run-limited", "--memory", "1G"], "<COMMAND>...");
    refused(
        &["run-limited", "--memory", "1G", "--", "no-such-command"],
        "no-such-command: cannot be started; check the command behind --",
    );
    refused(&["run-limited", "--memory", "1G", "--out", "no/where", "--", "true"], "make it with mkdir -p");
    refused(&["fit", "--budget", "1G", "--model", "vgg"], "possible values: mobilenet_v1, resnet18");
    refused(&["fit", "--budget", "0", "--model", "resnet18"], "--budget 0: no program runs in no memory");
    refused(&["fit", "--budget", "1G", "--model", "resnet18", "--measure", "4"], "a line needs two batches or more");
}

/// Less than what the run needs without a limit is not enough. The kernel kills it, and its log says where it was.
#[test]
fn a_run_that_breaks_its_limit_leaves_a_culprit() {
    let Some(by) = group() else { return };
    let (data, folder) = (small_data(8), tempfile::tempdir().expect("a folder"));
    let (out, files) = (folder.path().join("run.timeline.json"), folder.path().join("files"));
    std::fs::create_dir(&files).expect("made");
    let run = training(data.path(), &out);
    let free = trainer(&[&["run-limited", "--memory", "none", "--json", "--"], &run[..]].concat());
    assert_eq!(free.code, Some(0), "{}", free.stderr);
    let needed = json(&free)["rows"][0]["unreclaimable_peak_bytes"].as_u64().expect("a number");
    let live = alloc_timeline::load(&out).expect("whole").peak.live_bytes;
    assert!(needed > live / 2, "{needed} needed, {live} live");

    // 85 % end the run in a step; much less may end it before its first record.
    let tight = (needed * 85 / 100).to_string();
    let limits = format!("none,{tight}");
    let args = ["run-limited", "--memory", &limits, "--swap", "0", "--json", "--out", text(&files), "--"];
    let mut timed = run.clone();
    timed.push("--layer-times");
    let table = trainer(&[&args[..], &timed].concat());
    assert_eq!(table.code, Some(0), "limits are meant to break: {}", table.stderr);
    let rows = &json(&table)["rows"];
    assert_eq!((&rows[0]["broke"], &rows[0]["exit_code"]), (&Value::Bool(false), &0.into()));
    assert_eq!((&rows[1]["broke"], &rows[1]["exit_code"]), (&Value::Bool(true), &137.into()), "{}", rows[1]);
    assert_eq!(rows[1]["by"], by);
    assert_eq!(rows[1]["counters"]["oom_kills"], 1);
    assert!(rows[1]["counters"]["limit_hits"].as_u64().is_some_and(|hits| hits > 0), "{}", rows[1]["counters"]);
    let peak = rows[1]["counters"]["peak_bytes"].as_u64().expect("a number");
    // Charges that must not fail may go over the limit for a moment (the label `force` in Linux's mm/memcontrol.c).
    let limit = needed * 85 / 100;
    assert!(peak <= limit + limit / 100, "{peak} of {limit}: {}", rows[1]["counters"]);
    let end = &rows[1]["run"];
    assert_eq!(end["recovered"], true);
    let dimensions: Vec<&str> =
        end["culprit"]["holds"].as_array().expect("a list").iter().filter_map(|o| o["dimension"].as_str()).collect();
    assert_eq!(dimensions, ["phase", "layer", "op"], "{end}");

    // The weights of conv1, 3 x 64 x 7 x 7 f32, were drawn in some time; the kept timelines can be read.
    let layer = |name: &str, time: &str| rows[0]["run"]["layers"][name][time].as_u64().unwrap_or(0);
    assert!(layer("conv1", "init_ns") > 0, "{}", rows[0]);
    // A convolution and its two gradients take time in each pass; the backward pass runs on one thread, inside of a step.
    for name in ["conv1", "layer1.0.conv1", "layer4.1.conv2", "fc"] {
        assert!(layer(name, "forward_ns") > 0 && layer(name, "backward_ns") > 0, "{name}: {}", rows[0]);
    }
    let layers = rows[0]["run"]["layers"].as_object().expect("an object");
    let backward: u64 = layers.values().filter_map(|layer| layer["backward_ns"].as_u64()).sum();
    assert!(backward < rows[0]["wall_ns"].as_u64().expect("a number"), "{backward}: {}", rows[0]);
    let kept = |name: &str| alloc_timeline::load(files.join(name)).expect("a timeline").ending;
    assert_eq!(kept("limit-none.timeline.json"), Ending::Finished);
    assert_eq!(kept(&format!("limit-{tight}.timeline.json")), Ending::Recovered);
    let lines = |name: &str| std::fs::read_to_string(files.join(name)).expect("the file").lines().count();
    assert_eq!(lines("limits.csv"), 3);
    assert!(lines("layers.csv") > 2 * 20, "both runs reached most layers");
    assert!(std::fs::read_to_string(files.join("limits.svg")).expect("the picture").contains("whole command"));
}

/// The folder of the group that a running `run-limited` made for its command.
fn group_of(process: u32) -> Option<PathBuf> {
    let name = format!("trainer-limited-{process}");
    let mut open = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name() == *name {
                return Some(entry.path());
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    None
}

/// Ctrl-C reaches the command, and the group is gone, with what the command left running in it.
#[test]
fn the_group_is_removed_whatever_happens() {
    if group().is_none() {
        return;
    }
    // `exec`, because a shell that gets the signal while it forks its last command waits for that command all the same.
    let script = "sleep 1000 & echo ready; exec sleep 1000";
    let mut child = command(&["run-limited", "--memory", "1G", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let ready = BufReader::new(child.stdout.take().expect("piped")).lines().next();
    assert_eq!(ready.expect("a line").expect("UTF-8"), "ready");
    let folder = group_of(child.id()).expect("the group stands while the command runs");
    // SAFETY: kill takes two numbers and touches no memory; the child has not been waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(!folder.exists(), "{}", folder.display());
}

/// RLIMIT_AS counts what is mapped: libtorch alone maps more than this, and the loader gives up.
#[test]
fn the_address_space_as_a_limit() {
    let (data, folder) = (small_data(8), tempfile::tempdir().expect("a folder"));
    let out = folder.path().join("run.timeline.json");
    let args = ["run-limited", "--memory", "64M", "--by", "address-space", "--"];
    let ran = trainer(&[&args[..], &training(data.path(), &out)].concat());
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("the size of the address space (RLIMIT_AS)"), "{}", ran.stderr);
    assert!(ran.stderr.contains(", for the limit or not"), "{}", ran.stderr);
}

/// What the runs found is what they did, and the estimate is said to hold exactly if they did what it says. Returns
/// whether it held.
fn judged_by_the_runs(part: &Value) -> bool {
    let verified = &part["verified"];
    let trials = verified["trials"].as_array().expect("a list");
    let batches = |key: &str| {
        let ended_so = trials.iter().filter(move |trial| trial[key] == true);
        ended_so.filter_map(|trial| trial["batch"].as_u64()).collect::<Vec<u64>>()
    };
    let (passed, killed) = (batches("passed"), batches("broke"));
    assert_eq!(passed.len() + killed.len(), trials.len(), "each run passed or was killed: {verified}");
    assert_eq!(verified["smallest_killed"].as_u64(), killed.iter().min().copied(), "{verified}");
    let below = passed.iter().filter(|&batch| killed.iter().all(|killed| batch < killed)).max();
    assert_eq!(verified["largest_passed"].as_u64(), below.copied(), "{verified}");

    let (fits, fails) = (part["largest_that_fits"].as_u64(), part["smallest_that_does_not"].as_u64());
    let as_promised = passed.iter().all(|&batch| Some(batch) < fails) && killed.iter().all(|&batch| Some(batch) > fits);
    assert_eq!(verified["holds"], as_promised, "{verified}");
    assert!(below.is_some(), "smaller batches are run until one passes: {verified}");
    as_promised
}

/// The runs decide, and the answer says what they found and whether the estimate was right. With every freed page given
/// back at once a run needs the same each time, so there the estimate is close: it is off by less than a tenth of the
/// budget. It may be off by some images all the same, because workspace jumps by some MiB from one batch to the next, and where
/// it does is the processor's and oneDNN's affair. An allocator that keeps freed pages needs no less,
/// and how much more differs from run to run.
#[test]
fn fit_holds_at_the_edge() {
    let data = small_data(64);
    for (model, budget, budget_bytes) in [("resnet18", "290M", 290 << 20), ("mobilenet_v1", "190M", 190 << 20)] {
        let args =
            ["fit", "--model", model, "--budget", budget, "--batch", "4", "--image-size", "64", "--threads", "1"];
        let ran = trainer(&[&args[..], &["--data", text(data.path()), "--verify", "--json"]].concat());
        let answer = json(&ran);
        let given_back = &answer["pages_given_back"];
        let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no number: {value}: {answer}"));
        assert_eq!(given_back["verdict"], "fits", "{answer}");
        let (fits, fails) = (number(&given_back["largest_that_fits"]), number(&given_back["smallest_that_does_not"]));
        assert!(fits >= 4, "{answer}");
        let image = given_back["bytes_an_image"].as_f64().expect("a number");
        let unsure = (fails - fits) as f64 * image;
        assert!(
            unsure < f64::from(budget_bytes) / 10.0,
            "{unsure} bytes of {budget_bytes} are too close to call: {answer}"
        );
        assert!(number(&answer["largest_that_fits"]) <= fits, "an allocator that keeps pages needs no less: {answer}");

        if group().is_none() {
            assert_eq!(ran.code, Some(0), "nothing contradicted the estimate: {}", ran.stderr);
            let skipped = |part: &Value| part["verified"]["skipped"].is_string();
            assert!(skipped(&answer) && skipped(given_back), "{answer}");
            continue;
        }
        let holds = [&answer, given_back].map(judged_by_the_runs);
        assert_eq!(ran.code, Some(if holds == [true, true] { 0 } else { 2 }), "{answer}");

        let (passed, killed) =
            (number(&given_back["verified"]["largest_passed"]), &given_back["verified"]["smallest_killed"]);
        let off = fits.saturating_sub(passed) as f64 * image;
        assert!(off < f64::from(budget_bytes) / 10.0, "{passed} passed, and {fits} were to fit: {answer}");
        assert!(!killed.is_null() || holds != [true, true], "what was not to fit passed: {answer}");
    }
}

#[test]
fn nothing_fits_into_a_small_budget() {
    let data = small_data(8);
    let args =
        ["fit", "--model", "resnet18", "--budget", "64M", "--batch", "2", "--image-size", "64", "--threads", "1"];
    let ran = trainer(&[&args[..], &["--data", text(data.path())]].concat());
    assert_eq!(ran.code, Some(0), "an answer is no failure: {}", ran.stderr);
    assert!(ran.stdout.contains("does not fit"), "{}", ran.stdout);
    assert!(ran.stdout.contains("no batch fits: even one image needs"), "{}", ran.stdout);
}
