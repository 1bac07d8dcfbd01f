//! `viewer compare A B... [--json]` and `viewer diff A B [--json]`.
use std::collections::BTreeMap;

use alloc_timeline::Dimension;
use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use crate::analysis::{Comparison, ComparisonRow, Peak, TimeBasis, TimeComparison, compare, compare_times, summarise};
use crate::cli::args::{CompareArgs, DiffArgs};
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::load::load_all;
use crate::model::Run;
use crate::view::{compare_text, verdicts};

/// The object that `--json` prints. The field names never change.
#[derive(Serialize)]
struct CompareJson {
    files: Vec<ComparedFile>,
    differences: Differences,
    /// Self times a step of each file, null where a file has none. Left out where no file has times.
    #[serde(skip_serializing_if = "Option::is_none")]
    self_times: Option<SelfTimesJson>,
    /// The sentences above the tables.
    verdicts: Vec<String>,
}

#[derive(Serialize)]
struct ComparedFile {
    file: String,
    label: String,
    model: Option<Value>,
    mode: Option<Value>,
    batch: Option<Value>,
    peak: Peak,
    rss_peak_bytes: Option<u64>,
}

/// Nanoseconds a step, by name.
#[derive(Serialize)]
struct SelfTimesJson {
    basis: Vec<Option<TimeBasis>>,
    self_ns: Vec<Option<u64>>,
    by_phase: BTreeMap<String, Vec<Option<u64>>>,
    by_layer: BTreeMap<String, Vec<Option<u64>>>,
    by_op: BTreeMap<String, Vec<Option<u64>>>,
    by_operation: BTreeMap<String, Vec<Option<u64>>>,
}

/// For each name, by how many bytes each file differs from the first one. The first number is always 0.
#[derive(Serialize)]
struct Differences {
    live_bytes: Vec<i128>,
    by_phase: BTreeMap<String, Vec<i128>>,
    by_layer: BTreeMap<String, Vec<i128>>,
    by_op: BTreeMap<String, Vec<i128>>,
    by_category: BTreeMap<String, Vec<i128>>,
}

pub(super) fn run(args: &CompareArgs) -> Result<Outcome> {
    answer(&load_all(&args.files)?, args.json, false, args.top)
}

pub(super) fn run_diff(args: &DiffArgs) -> Result<Outcome> {
    answer(&load_all(&[args.before.clone(), args.after.clone()])?, args.json, true, args.top)
}

fn answer(runs: &[Run], json: bool, only_changed: bool, top: usize) -> Result<Outcome> {
    let comparison = compare(runs);
    if !json {
        return Ok(Outcome::Fine(compare_text(&comparison, only_changed, top, output::terminal())));
    }
    let file = |run: &Run| ComparedFile {
        file: run.path.display().to_string(),
        label: run.label.clone(),
        model: run.timeline.run.get("model").cloned(),
        mode: run.timeline.run.get("mode").cloned(),
        batch: run.timeline.run.get("batch").cloned(),
        peak: summarise(run).peak,
        rss_peak_bytes: run.rss_peak(),
    };
    let by = |dimension| differences(&comparison, dimension, only_changed);
    let answer = CompareJson {
        files: runs.iter().map(file).collect(),
        differences: Differences {
            live_bytes: row_differences(&comparison.totals),
            by_phase: by(Dimension::Phase),
            by_layer: by(Dimension::Layer),
            by_op: by(Dimension::Op),
            by_category: by(Dimension::Category),
        },
        self_times: compare_times(runs).map(self_times_json),
        verdicts: verdicts(&comparison),
    };
    Ok(Outcome::Fine(output::json(&answer)?))
}

fn self_times_json(times: TimeComparison) -> SelfTimesJson {
    let by = |name: &str| {
        let rows = times.groups.iter().filter(|(group, _)| *group == name).flat_map(|(_, rows)| rows);
        rows.map(|row| (row.name.clone(), row.figures.clone())).collect()
    };
    SelfTimesJson {
        self_ns: times.totals.figures.clone(),
        by_phase: by("phase"),
        by_layer: by("layer"),
        by_op: by("op"),
        by_operation: by("operation"),
        basis: times.basis,
    }
}

fn differences(comparison: &Comparison<'_>, dimension: Dimension, only_changed: bool) -> BTreeMap<String, Vec<i128>> {
    let rows = comparison.rows_by(dimension).iter().filter(|row| !only_changed || !row.is_unchanged());
    rows.map(|row| (row.name.clone(), row_differences(row))).collect()
}

fn row_differences(row: &ComparisonRow) -> Vec<i128> {
    (0..row.figures.len()).map(|index| row.difference(index)).collect()
}
