//! What the probes take of one core while a session records: their processor time by the timeline, which has a stopwatch for
//! each of them, and by the kernel's count of the threads that read them, which do other work as well.
//!
//! The recorder's thread replays events and writes the log besides. So the kernel's figure is the larger one; if it is not,
//! one of the two instruments is wrong, and the row says so.

use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::context::Bench;
use super::measurement::{Measurement, Reading};
use super::rounds::rounds;
use crate::programs::{self, Programs};
use crate::progress::Progress;
use crate::trainer_compare::DATA;
use crate::user_error::UserError;

/// Percent of a core that the probes may take.
const LIMIT: f64 = 1.0;
/// The runs: the key of the row, for how many seconds at least the training goes on, and the limit. By the rule that the tracker
/// follows, it holds from 8 s on. A shorter run has none: the 44 ms that are spent once, while memory grows, are most of what its probes take.
const RUNS: [(&str, f64, Option<f64>); 3] = [
    ("probes_percent_of_core", 30.0, Some(LIMIT)),
    ("probes_percent_of_core_10_s", 10.0, Some(LIMIT)),
    ("probes_percent_of_core_5_s", 5.0, None),
];
/// The runs are planned longer by this factor than they must be, because steps do not always take the same time.
const LONGER: f64 = 1.1;
/// Images in a step: as many as in the row of the small training step.
const BATCH: u32 = 8;
/// The tracker's threads, and what they are called.
const THREADS: [&str; 4] = ["alloc-recorder", "alloc-worker", "alloc-files", "alloc-calls"];
/// How often the kernel's count is read.
const PAUSE: Duration = Duration::from_millis(50);

/// What one run says, in percent of a core.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Share {
    /// The probes, by the timeline.
    probes: f64,
    /// The tracker's threads, by the kernel; NaN where it does not tell.
    threads: f64,
    seconds: f64,
}

/// A row for each length of a run.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measurement>> {
    let programs = programs::build(bench.workspace, &["-p", "trainer", "-p", "viewer"])?;
    let count = bench.rounds(7, 5);
    let progress = Progress::parts("bench: the probes", (1 + count * RUNS.len()) as u64);
    // The first run only tells how long a step takes here, so that the others are as long as they should be. It is short, and its
    // start, when memory is touched for the first time, makes its steps look longer than those of the others.
    let steps = 6;
    let probing = run(bench, &programs, steps)?;
    progress.add(1);
    let step_seconds = probing.seconds / f64::from(steps);
    let shares = rounds(count, RUNS.len(), |which| {
        let steps = (LONGER * RUNS[which].1 / step_seconds).ceil().max(1.0) as u32;
        let share = run(bench, &programs, steps)?;
        progress.add(1);
        Ok(share)
    })?;
    progress.done("");
    Ok(RUNS.iter().zip(shares).map(|(&(key, seconds, limit), shares)| row(key, seconds, limit, &shares)).collect())
}

fn row(key: &'static str, seconds: f64, limit: Option<f64>, shares: &[Share]) -> Measurement {
    let of = |figure: fn(&Share) -> f64| shares.iter().map(figure).collect::<Vec<f64>>();
    Measurement {
        key,
        title: format!(
            "the probes' processor time in % of a core, samples every 10 ms, ResNet-18 batch {BATCH}, at least {seconds} s"
        ),
        limit,
        reading: Reading::Share {
            probes: of(|share| share.probes),
            threads: of(|share| share.threads),
            seconds: of(|share| share.seconds),
        },
    }
}

/// Trains for so many steps.
fn run(bench: &Bench<'_>, programs: &Programs, steps: u32) -> Result<Share> {
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let out = scratch.path().join("bench.timeline.json");
    let mut said = tempfile::tempfile().context("cannot make a temporary file")?;
    let mut command = programs.command(bench.workspace, "trainer")?;
    command.args(["train", "--model", "resnet18", "--seed", "1", "--data", DATA, "--image-size", "224"]);
    command
        .args(["--batch", &BATCH.to_string(), "--steps", &steps.to_string(), "--threads", "1"])
        .arg("--out")
        .arg(&out);
    command.env("OMP_NUM_THREADS", "1").stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone()?);
    let mut process = command.spawn().context("cannot start the trainer")?;
    let threads_ns = watch(&mut process);
    let status = process.wait()?;
    if !status.success() {
        let mut text = String::new();
        let _ = said.rewind().and_then(|()| said.read_to_string(&mut text));
        let problem = format!("the trainer failed ({status})\n{}", text.trim_end());
        return Err(UserError::new(problem, "see its own message above").into());
    }
    share(&out, threads_ns)
}

/// Reads the kernel's count of the tracker's threads until the process has ended. Returns the last one, in nanoseconds:
/// what came in the pause before the end is missing. `None` where the kernel does not tell.
fn watch(process: &mut Child) -> Option<u64> {
    let (mut latest, began) = (None, Instant::now());
    while matches!(process.try_wait(), Ok(None)) && began.elapsed() < Duration::from_secs(600) {
        let read = threads_ns(Path::new("/proc").join(process.id().to_string()).join("task").as_path());
        latest = latest.max(read);
        std::thread::sleep(PAUSE);
    }
    latest
}

/// The nanoseconds on a processor of the tracker's threads, the first number of schedstat (proc_pid_schedstat(5)).
fn threads_ns(tasks: &Path) -> Option<u64> {
    let folders = std::fs::read_dir(tasks).ok()?.flatten().map(|task| task.path());
    let ours = folders.filter(|folder| {
        std::fs::read_to_string(folder.join("comm")).is_ok_and(|name| THREADS.contains(&name.trim_end()))
    });
    ours.map(|folder| {
        let text = std::fs::read_to_string(folder.join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    })
    .sum()
}

/// The shares, by the timeline at `path` and the kernel's count.
fn share(path: &Path, threads_ns: Option<u64>) -> Result<Share> {
    let timeline: Value = serde_json::from_str(&std::fs::read_to_string(path).context("the run left no timeline")?)?;
    let probes = timeline.pointer("/tracker/probes_ns").and_then(Value::as_object);
    let probes = probes.context("the timeline has no tracker.probes_ns")?;
    let duration = timeline.get("duration_ns").and_then(Value::as_f64).context("the timeline has no duration_ns")?;
    let percent = |ns: f64| 100.0 * ns / duration;
    Ok(Share {
        probes: percent(probes.values().filter_map(Value::as_f64).sum()),
        threads: threads_ns.map_or(f64::NAN, |ns| percent(ns as f64)),
        seconds: duration / 1e9,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 60 ms of 10 s are 0.6 %, and 120 ms of them 1.2 %.
    #[test]
    fn the_shares_are_of_the_timelines_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.timeline.json");
        let text = r#"{"duration_ns":10000000000,"tracker":{"probes_ns":{"book":20000000,"survey":40000000}}}"#;
        std::fs::write(&path, text).unwrap();
        let expected = Share { probes: 0.6, threads: 1.2, seconds: 10.0 };
        let found = share(&path, Some(120_000_000)).unwrap();
        assert!((found.probes - expected.probes).abs() < 1e-9 && (found.threads - expected.threads).abs() < 1e-9);
        assert_eq!(found.seconds, expected.seconds);
        std::fs::write(&path, r#"{"duration_ns":1,"tracker":{}}"#).unwrap();
        assert!(share(&path, None).is_err(), "a timeline from before they were measured");
    }

    #[test]
    fn only_the_trackers_threads_count() {
        let folder = tempfile::tempdir().unwrap();
        for (id, name, ns) in [("1", "trainer", 9_000), ("2", "alloc-recorder", 300), ("3", "alloc-worker", 40)] {
            let task = folder.path().join(id);
            std::fs::create_dir(&task).unwrap();
            std::fs::write(task.join("comm"), format!("{name}\n")).unwrap();
            std::fs::write(task.join("schedstat"), format!("{ns} 5 6\n")).unwrap();
        }
        assert_eq!(threads_ns(folder.path()), Some(340));
        std::fs::remove_file(folder.path().join("2/schedstat")).unwrap();
        assert_eq!(threads_ns(folder.path()), None);
    }
}
