//! The tracker's own memory, by differences: a smaller and a larger run, which differ in the number of one thing.

use anyhow::{Context, Result};
use serde_json::Value;

use super::context::Bench;
use super::measurement::{Measurement, Reading};
use crate::child;
use crate::progress::Progress;

/// One thing that the tracker keeps memory for.
struct FootprintCase {
    key: &'static str,
    title: &'static str,
    /// The argument that names it to the `footprint` program.
    argument: &'static str,
    /// How many in the smaller and in the larger run.
    counts: [u64; 2],
    limit: f64,
}

const CASES: [FootprintCase; 4] = [
    FootprintCase {
        key: "tracker_bytes_per_small_byte",
        title: "tracker's memory for a byte in small blocks",
        argument: "small",
        counts: [100_000, 300_000],
        limit: 0.125,
    },
    FootprintCase {
        key: "tracker_bytes_per_small_byte_c_door",
        title: "tracker's memory for a byte in small blocks, C's door",
        argument: "c-small",
        counts: [100_000, 300_000],
        limit: 0.125,
    },
    FootprintCase {
        key: "tracker_bytes_per_large_block",
        title: "tracker's memory for a large block (256 KiB), bytes",
        argument: "large",
        counts: [500, 2_500],
        limit: 4096.0,
    },
    FootprintCase {
        key: "tracker_bytes_per_thread",
        title: "tracker's memory for a thread, bytes",
        argument: "threads",
        counts: [8, 208],
        limit: 65_536.0,
    },
];

/// A row for each case.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measurement>> {
    let progress = Progress::parts("bench: the tracker's memory", CASES.len() as u64 * 2);
    let mut measurements = Vec::new();
    for case in CASES {
        let less = run_case(bench, case.argument, case.counts[0], &progress)?;
        let more = run_case(bench, case.argument, case.counts[1], &progress)?;
        let (bytes, held) = (more.tracker - less.tracker, more.held - less.held);
        let detail = format!("{bytes} bytes more for {held} more, both in one run");
        let reading = Reading::Number(bytes as f64 / held as f64, detail);
        measurements.push(Measurement {
            key: case.key,
            title: case.title.to_owned(),
            limit: Some(case.limit),
            reading,
        });
    }
    progress.done("");
    Ok(measurements)
}

/// What one run of `footprint` reports.
struct Footprint {
    /// Bytes in blocks, or the number of them.
    held: i64,
    /// The tracker's own bytes.
    tracker: i64,
}

fn run_case(bench: &Bench<'_>, argument: &str, count: u64, progress: &Progress) -> Result<Footprint> {
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let out = scratch.path().join("footprint.timeline.json");
    let mut command = bench.workloads.command(bench.workspace, "footprint")?;
    command.arg(&out).args([argument, &count.to_string()]);
    let ended = child::run_to_end(&mut command, progress)?.expect_success("footprint")?;
    let printed: i64 = ended.stdout.trim().parse().context("footprint printed no number")?;
    let timeline: Value = serde_json::from_str(&std::fs::read_to_string(&out)?)?;
    let tracker = timeline.pointer("/tracker/overhead_bytes").and_then(Value::as_i64);
    progress.add(1);
    let held = if argument == "large" { count as i64 } else { printed };
    Ok(Footprint { held, tracker: tracker.context("the timeline has no tracker.overhead_bytes")? })
}
