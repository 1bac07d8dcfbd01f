//! The tracker's own memory, by differences: twice as much of one thing, everything else the same.

use anyhow::{Context, Result};
use serde_json::Value;

use super::Bench;
use super::answer::{Answer, Found};
use super::workload::unsteered;
use crate::child;
use crate::progress::Step;

/// One thing that the tracker keeps memory for.
struct Thing {
    key: &'static str,
    title: &'static str,
    /// The word of the `footprint` program.
    word: &'static str,
    /// How many in the smaller and in the larger run.
    counts: [u64; 2],
    limit: f64,
}

const THINGS: [Thing; 4] = [
    Thing {
        key: "tracker_bytes_per_small_byte",
        title: "tracker's memory for a byte in small blocks",
        word: "small",
        counts: [100_000, 300_000],
        limit: 0.125,
    },
    Thing {
        key: "tracker_bytes_per_small_byte_c_door",
        title: "tracker's memory for a byte in small blocks, C's door",
        word: "c-small",
        counts: [100_000, 300_000],
        limit: 0.125,
    },
    Thing {
        key: "tracker_bytes_per_large_block",
        title: "tracker's memory for a large block (256 KiB), bytes",
        word: "large",
        counts: [500, 2_500],
        limit: 4096.0,
    },
    Thing {
        key: "tracker_bytes_per_thread",
        title: "tracker's memory for a thread, bytes",
        word: "threads",
        counts: [8, 208],
        limit: 65_536.0,
    },
];

/// A row for each thing.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Answer>> {
    let step = Step::parts("bench: the tracker's memory", THINGS.len() as u64 * 2);
    let mut answers = Vec::new();
    for thing in THINGS {
        let less = hold(bench, thing.word, thing.counts[0], &step)?;
        let more = hold(bench, thing.word, thing.counts[1], &step)?;
        let (bytes, held) = (more.tracker - less.tracker, more.held - less.held);
        let detail = format!("{bytes} bytes more for {held} more, both in one run");
        let found = Found::Number(bytes as f64 / held as f64, detail);
        answers.push(Answer { key: thing.key, title: thing.title.to_owned(), limit: Some(thing.limit), found });
    }
    step.done("");
    Ok(answers)
}

/// What one run of `footprint` told.
struct Held {
    /// Bytes in blocks, or the number of them.
    held: i64,
    /// The tracker's own bytes.
    tracker: i64,
}

fn hold(bench: &Bench<'_>, word: &str, count: u64, step: &Step) -> Result<Held> {
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let out = scratch.path().join("footprint.timeline.json");
    let mut command = unsteered(bench.workloads.command(bench.workspace, "footprint")?);
    command.arg(&out).args([word, &count.to_string()]);
    let ended = child::watch(&mut command, step)?.expect_success("footprint")?;
    let printed: i64 = ended.stdout.trim().parse().context("footprint printed no number")?;
    let timeline: Value = serde_json::from_str(&std::fs::read_to_string(&out)?)?;
    let tracker = timeline.pointer("/tracker/overhead_bytes").and_then(Value::as_i64);
    step.add(1);
    let held = if word == "large" { count as i64 } else { printed };
    Ok(Held { held, tracker: tracker.context("the timeline has no tracker.overhead_bytes")? })
}
