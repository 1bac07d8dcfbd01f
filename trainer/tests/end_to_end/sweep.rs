//! Sweeps on real runs: results, interruptions, bad files, full disks, and points that cannot run.
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{Ran, command, number, rows, small_data, trainer};

/// A sweep of LeNet-5 over two batches in a folder of its own.
struct Sweep {
    data: tempfile::TempDir,
    folder: tempfile::TempDir,
}

impl Sweep {
    fn new() -> Sweep {
        Sweep { data: small_data(16), folder: tempfile::tempdir().expect("a folder") }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// The arguments; `more` comes behind them.
    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<String> {
        let own = ["sweep", "--models", "lenet5", "--batch", "2,4", "--threads", "1", "--classes", "10"];
        let mut all: Vec<String> = own.iter().chain(more).map(|&word| word.to_owned()).collect();
        if !more.contains(&"--steps") {
            all.extend(["--steps", "5"].map(str::to_owned));
        }
        all.extend(["--data".to_owned(), self.data.path().display().to_string()]);
        all.extend(["--out".to_owned(), self.out().display().to_string()]);
        all
    }

    fn command(&self, more: &[&str]) -> Command {
        let arguments = self.arguments(more);
        command(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn run(&self, more: &[&str]) -> Ran {
        self.command(more).output().expect("the binary starts").into()
    }

    /// The finished runs, by the names of their files, with their content.
    fn finished(&self) -> BTreeMap<String, String> {
        let entries = fs::read_dir(self.out().join("runs")).into_iter().flatten().flatten();
        let json = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "json"));
        json.map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read_to_string(entry.path()).expect("whole"))
        })
        .collect()
    }

    /// Waits until `count` runs have finished while `child` works. How long a run takes is the machine's affair, so the
    /// only limit is that the child is still there.
    fn wait_for(&self, count: usize, child: &mut Child) {
        while self.finished().len() < count {
            assert_eq!(child.try_wait().expect("a child"), None, "the sweep goes on");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn rows(&self) -> Vec<BTreeMap<String, String>> {
        rows(&self.out().join("results.csv"))
    }
}

/// The same point in two precisions: each row says which, and so does the difference between them.
#[test]
fn precisions_are_an_axis() {
    let sweep = Sweep::new();
    let ran = sweep.run(&["--repeat", "1", "--precision", "fp32,bf16"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let rows = sweep.rows();
    let ran: Vec<(&str, &str)> = rows.iter().map(|row| (row["precision"].as_str(), row["outcome"].as_str())).collect();
    assert_eq!((ran.len(), ran.iter().filter(|run| **run == ("bf16", "done")).count()), (4, 2), "{ran:?}");
    for row in &rows {
        assert!(number(row, "peak_parameter_bytes") >= 61_706.0 * 4.0, "fp32 in both: {row:?}");
    }
    let apart = crate::common::rows(&sweep.out().join("differences.csv"));
    let apart: Vec<_> = apart.iter().filter(|row| row["axis"] == "precision").collect();
    assert!(!apart.is_empty() && apart.iter().all(|row| row["base"] == "fp32" && row["other"] == "bf16"), "{apart:?}");
    let page = fs::read_to_string(sweep.out().join("index.html")).expect("a page");
    assert!(page.contains("bf16"));
}

#[test]
fn two_points_twice() {
    let sweep = Sweep::new();
    let ran = sweep.run(&["--repeat", "2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 point(s), 2 run(s) each: 4 run(s), 0 of them ended before"), "{}", ran.stderr);
    assert!(ran.stderr.contains("about ") && ran.stderr.contains(" left"), "{}", ran.stderr);
    let rows = sweep.rows();
    assert_eq!(rows.len(), 4);
    for row in &rows {
        assert_eq!((row["outcome"].as_str(), row["steady_steps"].as_str()), ("done", "2"), "three of five warm up");
        assert!(number(row, "warm_up_step_3_ns") > 0.0);
        let speed = number(row, "batch") * 1e9 / number(row, "step_ns_median");
        assert!((number(row, "samples_per_second") / speed - 1.0).abs() < 1e-9, "{row:?}");
        let sum: f64 = row.iter().filter(|(name, _)| is_category(name)).map(|(name, _)| number(row, name)).sum();
        assert_eq!(sum, number(row, "peak_live_bytes"), "the categories sum to the peak: {row:?}");
        // LeNet-5 has 61,706 parameters, sgd with momentum keeps as many values, and blocks are never smaller than asked.
        assert!(number(row, "peak_parameter_bytes") >= 61_706.0 * 4.0);
        assert!(number(row, "peak_optimizer_state_bytes") >= 61_706.0 * 4.0);
        assert!(number(row, "peak_rss_bytes") > number(row, "peak_live_bytes"));
        assert_eq!(row["data"], sweep.data.path().display().to_string());
    }
    assert_eq!(csv::Reader::from_path(sweep.out().join("steps.csv")).expect("a table").records().count(), 4 * 5);
    for name in ["index.html", "step-time.svg", "throughput.svg", "memory-against-batch.svg", "differences.csv"] {
        assert!(sweep.out().join(name).exists(), "{name}");
    }
    assert!(!sweep.out().join("running").exists(), "nothing of a run is left");

    // What is finished is not run again: the files of the runs stay as they are.
    let before = sweep.finished();
    let again = sweep.run(&["--repeat", "2"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stderr.contains("4 run(s), 4 of them ended before"), "{}", again.stderr);
    assert_eq!(sweep.finished(), before);
    let more = sweep.run(&["--repeat", "3"]);
    assert_eq!((more.code, sweep.finished().len()), (Some(0), 6), "{}", more.stderr);

    let other = sweep.run(&["--steps", "6"]);
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("has steps 5 and not 6"), "{}", other.stderr);
}

fn is_category(column: &str) -> bool {
    column.starts_with("peak_") && !["peak_live_bytes", "peak_rss_bytes"].contains(&column)
}

/// A reader that is none of ours, where there is one.
#[test]
fn pyarrow_reads_the_parquet_file() {
    let probe = Command::new("python3").args(["-c", "import pyarrow.parquet"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        return println!("SKIPPED: python3 has no pyarrow here; install it with pip install pyarrow");
    }
    let sweep = Sweep::new();
    assert_eq!(sweep.run(&["--repeat", "1"]).code, Some(0));
    let script = "import sys, csv, pyarrow.parquet as p\n\
        rows = p.read_table(sys.argv[1] + '/results.parquet').to_pylist()\n\
        other = list(csv.DictReader(open(sys.argv[1] + '/results.csv')))\n\
        text = lambda v: '' if v is None else repr(v) if isinstance(v, float) else str(v)\n\
        same = lambda a, b: a == b or (a != '' and b != '' and float(a) == float(b))\n\
        assert len(rows) == len(other) == 2, rows\n\
        assert all(same(text(r[k]), o[k]) for r, o in zip(rows, other) for k in o), (rows, other)\n\
        assert all(isinstance(r['peak_live_bytes'], int) and isinstance(r['step_ns_sd'], float) for r in rows)\n";
    let output = Command::new("python3").args(["-c", script]).arg(sweep.out()).output().expect("python3 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Ctrl-C ends a sweep after the step in progress; its finished runs stay, and the same command does the rest.
#[test]
fn an_interrupted_sweep_goes_on() {
    interrupted(libc::SIGINT, Some(130));
}

/// Nothing can be done about SIGKILL, and nothing needs to be.
#[test]
fn a_killed_sweep_goes_on() {
    interrupted(libc::SIGKILL, None);
}

fn interrupted(signal: i32, code: Option<i32>) {
    let sweep = Sweep::new();
    // So many steps that the second run is in progress when the signal comes, as few as make that sure.
    let more = ["--repeat", "3", "--steps", "300"];
    let mut child =
        sweep.command(&more).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts");
    sweep.wait_for(1, &mut child);
    // SAFETY: kill takes two numbers and touches no memory; the child has not been waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), code);
    let before = sweep.finished();
    assert!((1..6).contains(&before.len()), "{} of 6 runs", before.len());
    if code.is_some() {
        assert_eq!(sweep.rows().len(), before.len(), "what ended is shown");
    }

    // A killed sweep takes its run with it, and the lock on the folder is gone with both; the kernel takes a moment.
    let again = sweep.run(&more);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let after = sweep.finished();
    assert_eq!(after.len(), 6);
    for (name, text) in before {
        assert_eq!(after[&name], text, "{name} ran once");
    }
    assert_eq!(sweep.rows().len(), 6);
}

#[test]
fn two_sweeps_do_not_share_a_folder() {
    let sweep = Sweep::new();
    let more = ["--repeat", "3", "--steps", "300"];
    let mut child =
        sweep.command(&more).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts");
    sweep.wait_for(1, &mut child);
    let second = sweep.run(&more);
    assert_eq!(second.code, Some(2));
    assert!(second.stderr.contains("another sweep works in this folder now"), "{}", second.stderr);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

/// A point that the network cannot take and one that no machine has the memory for are results with a reason, told before
/// anything runs; the third one runs.
#[test]
fn what_cannot_run_is_told_and_the_rest_runs() {
    let sweep = Sweep::new();
    let file = sweep.folder.path().join("some.toml");
    let text = "repeat = 1\nsteps = 4\nclasses = 10\n\
        [[grid]]\nmodels = 'lenet5'\nbatch = 2\nimage-size = [32, 97]\nthreads = 1\n\
        [[grid]]\nmodels = 'resnet18'\nbatch = 1000000\nthreads = 1\n";
    fs::write(&file, text).expect("written");
    let (file, data, out) =
        (file.display().to_string(), sweep.data.path().display().to_string(), sweep.out().display().to_string());
    let ran = trainer(&["sweep", &file, "--data", &data, "--out", &out]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = ran.stderr.find("These do not run (2").expect("told");
    let begins = ran.stderr.find("1/1  lenet5").expect("one ran");
    assert!(told < begins, "{}", ran.stderr);
    let rows = sweep.rows();
    let outcomes: Vec<&str> = rows.iter().map(|row| row["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["done", "misfit", "too_large"]);
    assert!(rows[1]["reason"].contains("--image-size 32"), "{rows:?}");
    assert!(rows[2]["reason"].contains("MiB are free"), "{rows:?}");

    // Run anyway, it refuses for itself, which is a result as well. It is kept until somebody wants it to run again.
    let anyway = trainer(&["sweep", &file, "--data", &data, "--out", &out, "--anyway"]);
    assert_eq!(anyway.code, Some(0), "{}", anyway.stderr);
    let failed = &sweep.rows()[2];
    assert_eq!(failed["outcome"], "failed");
    assert!(failed["reason"].contains("needs at least"), "{failed:?}");
    let kept = sweep.finished();
    assert_eq!(trainer(&["sweep", &file, "--data", &data, "--out", &out, "--anyway"]).code, Some(0));
    assert_eq!(sweep.finished(), kept);
    assert_eq!(trainer(&["sweep", &file, "--data", &data, "--out", &out, "--anyway", "--retry"]).code, Some(0));
    assert_ne!(sweep.finished(), kept, "it ran once more");
}

#[test]
fn what_is_wrong_is_refused_before_anything_runs() {
    let sweep = Sweep::new();
    let refused = |text: &str, says: &str| {
        let file = sweep.folder.path().join("bad.toml");
        fs::write(&file, text).expect("written");
        let out = sweep.out().display().to_string();
        let ran = trainer(&["sweep", &file.display().to_string(), "--out", &out]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{text}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{says:?} is missing in: {}", ran.stderr);
        assert!(!sweep.out().exists(), "nothing was made: {text}");
    };
    refused("[[grid]]\nmodels = 'lenet5'\nbacth = 2\n", "bad.toml: line 3: `bacth = 2`: unknown field `bacth`");
    refused("[[grid]]\nmodels = 'lenet6'\n", "did you mean lenet5?");
    refused("[[grid]]\nmodels = 'lenet5'\nbatch = [2, 0]\n", "0 does nothing; give 1 or more");
    refused("[[grid]]\nmodels = 'lenet5'\nprecision = 'tf32'\n", "there is no such precision here");
    refused("[[grid\n", "line 1");
    let missing = trainer(&["sweep", "no-such.toml"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("no-such.toml: cannot be read"), "{}", missing.stderr);
    // Nothing that is asked for can run.
    let none = sweep.run(&["--image-size", "97"]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("no point of this sweep can run"), "{}", none.stderr);
}

/// Allocators that the tracker serves have live bytes; mimalloc, which it does not serve, has times and resident bytes.
#[test]
fn allocators_side_by_side() {
    let sweep = Sweep::new();
    let ran = sweep.run(&["--repeat", "1", "--allocator", "jemalloc,glibc,mimalloc", "--timelines"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for row in sweep.rows() {
        assert_eq!(row["outcome"], "done", "{row:?}");
        assert_eq!(row["peak_live_bytes"].is_empty(), row["allocator"] == "mimalloc", "{row:?}");
        assert!(number(&row, "peak_rss_bytes") > 0.0);
    }
    let kept = fs::read_dir(sweep.out().join("timelines")).expect("kept").flatten().count();
    assert_eq!(kept, 4, "two points over two allocators");
}

/// A file system that is too small for a run's timeline, in a mount namespace of its own, and then made larger: the runs
/// that had ended are kept, and the sweep goes on.
#[test]
fn a_full_disk_loses_no_finished_run() {
    let sweep = Sweep::new();
    fs::create_dir(sweep.out()).expect("made");
    let disk = sweep.out().display().to_string();
    let private = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command.env("OMP_NUM_THREADS", "1").env_remove("ALLOC_TRACKER");
        command
    };
    match private(&format!("mount -t tmpfs -o size=1m none '{disk}'")).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => return println!("SKIPPED: no mount here: {}", String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => return println!("SKIPPED: unshare cannot be run: {error}"),
    }
    let arguments = sweep.arguments(&["--repeat", "1", "--steps", "4"]);
    let words: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
    let run = format!("'{}' {}", env!("CARGO_BIN_EXE_trainer"), words.join(" "));
    let filler = "dd if=/dev/zero of=filler bs=1k 2>/dev/null";
    // One run ends in 64 MB; then something fills the disk, and the second run finds no room.
    let script = format!(
        "mount -t tmpfs -o size=64m none '{disk}' && cd '{disk}' && {run} 2>first; echo first $?; \
         cp runs/*-b2-*.json kept; rm runs/*-b4-*.json; {filler}; {run} 2>/dev/shm/$$; echo second $?; \
         grep -c 'make room' /dev/shm/$$; rm /dev/shm/$$; cmp runs/*-b2-*.json kept && echo whole; ls runs; \
         rm filler; {run} 2>third; echo third $?; ls runs; cmp runs/*-b2-*.json kept && echo still"
    );
    let ran: Ran = private(&script).output().expect("it starts").into();
    let said: Vec<&str> = ran.stdout.lines().filter(|line| !line.contains("│")).collect();
    let at = |text: &str| said.iter().position(|line| *line == text);
    let order = ["first 0", "second 2", "whole", "third 0", "still"].map(at);
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{}\n{}", ran.stdout, ran.stderr);
}
