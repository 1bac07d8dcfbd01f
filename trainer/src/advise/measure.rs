//! Runs the step as it is and each change, in rounds, each run in a process of its own.
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use alloc_timeline::Dimension;
use anyhow::{Context, Result};

use super::change::Change;
use super::row::Measured;
use crate::child::{self, Ended, Job, Times};
use crate::figures::{mib, seconds, typical_step};
use crate::rounds::{Pace, Progress, order};

/// What became of the runs of one kind: what they showed, or what the first that failed said.
pub(super) type Outcome = Result<Measured, String>;

/// What the step as it is, and each change, showed.
pub(super) struct Outcomes {
    pub(super) plain: Outcome,
    pub(super) changes: Vec<Outcome>,
}

/// Runs `job` as it is, and with each of `changes`, `repeat` times. `None` when the user ended it. Timelines go to `folder`.
pub(super) fn measure(job: &Job<'_>, changes: &[Change], repeat: u64, folder: &Path) -> Result<Option<Outcomes>> {
    let kinds: Vec<Option<&Change>> = [None].into_iter().chain(changes.iter().map(Some)).collect();
    let mut outcomes: Vec<Outcome> = kinds.iter().map(|_| Ok(Measured::default())).collect();
    let order = order(kinds.len(), repeat, job.work.seed);
    let (mut progress, mut pace) = (Progress::new(order.len(), 0), Pace::default());
    for (done, &(kind, _)) in order.iter().enumerate() {
        let Ok(measured) = &mut outcomes[kind] else { continue };
        let began = Instant::now();
        let name = kinds[kind].map_or("as it is".to_owned(), Change::text);
        let Some(ran) = run(job, kinds[kind], folder)? else { return Ok(None) };
        pace.add(kind, began.elapsed());
        let text = match ran {
            Ok(run) => {
                let text = format!("{name}: {}, {} a step", mib(run.peak_bytes), seconds(run.step_ns));
                run.add_to(measured);
                text
            }
            Err(reason) => {
                let text = format!("{name}: {reason}");
                outcomes[kind] = Err(reason);
                text
            }
        };
        progress.ended(&text, pace.left(order[done + 1..].iter().map(|(kind, _)| *kind)));
    }
    let mut outcomes = outcomes.into_iter();
    let plain = outcomes.next().context("the step as it is was not run")?;
    Ok(Some(Outcomes { plain, changes: outcomes.collect() }))
}

/// What one run showed.
struct Run {
    peak_bytes: u64,
    step_ns: u64,
    by_layer: BTreeMap<String, u64>,
}

impl Run {
    fn add_to(self, measured: &mut Measured) {
        measured.peaks.push(self.peak_bytes as f64);
        measured.step_ns.push(self.step_ns as f64);
        if measured.by_layer.is_empty() {
            measured.by_layer = self.by_layer;
        }
    }
}

/// One run; why it failed, if it did. `None` when the user ended it.
fn run(job: &Job<'_>, change: Option<&Change>, folder: &Path) -> Result<Option<Result<Run, String>>> {
    let program = std::env::current_exe().context("cannot find this program's own file to start it again")?;
    let timeline = folder.join("run.timeline.json");
    let optimizer = change.and_then(|change| change.optimizer).unwrap_or(job.optimizer);
    let job = Job { optimizer, ..*job };
    let mut command = Command::new(program);
    command.args(job.arguments()).args(change.into_iter().flat_map(|change| &change.flags));
    command.args(["--json-times", "--layer-times", "off", "--out"]).arg(&timeline);
    let stdout = match child::ended(&mut command)? {
        Ended::Done(stdout) => stdout,
        Ended::Interrupted => return Ok(None),
        Ended::Failed { status, said } => {
            let reason = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
            return Ok(Some(Err(format!("{status}: {reason}"))));
        }
    };
    let times: Times = serde_json::from_str(&stdout).context("a run printed something else than its times")?;
    let timeline = alloc_timeline::load(&timeline)?;
    Ok(Some(Ok(Run {
        peak_bytes: timeline.peak.live_bytes,
        step_ns: typical_step(&times.step_ns),
        by_layer: timeline.peak.by(&timeline.scopes, Dimension::Layer),
    })))
}
