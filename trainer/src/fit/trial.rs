//! One training run of a few steps inside a limit: what it needed, or how it ended.
use std::ffi::OsString;
use std::path::Path;

use alloc_timeline::Timeline;
use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::estimate::Point;
use crate::child::Job;
use crate::cli::WorkArgs;
use crate::limit::{self, Holder, Limit, Means, Ran};

/// From the second step on every step has the same peak: the optimizer's state is there. One more to be sure.
pub(super) const STEPS: u64 = 3;

/// How a run at the edge ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Trial {
    pub(super) batch: u64,
    /// Whether all steps were done.
    pub(super) passed: bool,
    /// Whether the kernel killed it for lack of memory.
    pub(super) broke: bool,
    pub(super) exit_code: u8,
    pub(super) unreclaimable_bytes: Option<u64>,
    pub(super) peak_bytes: Option<u64>,
}

/// The measured runs, one process each.
pub(super) struct Trials<'a> {
    pub(super) job: Job<'a>,
    /// The work with the number of steps that a trial has.
    pub(super) work: &'a WorkArgs,
    /// Where the timelines go.
    pub(super) folder: &'a Path,
}

impl Trials<'_> {
    /// Runs `batch` images without a limit. Returns what it needed, and what counted.
    pub(super) fn measure(&self, batch: u64) -> Result<(Point, &'static str)> {
        let holder = Holder::make(Means::Auto, Limit(None), None)?;
        let (ran, path) = self.run(batch, &holder, Limit(None))?;
        ensure!(
            ran.status.success(),
            "batch {batch}: the run that was to be measured ended with {}; its message stands above; give smaller \
             batches with --measure",
            ran.status
        );
        let timeline: Timeline = alloc_timeline::load(&path)?;
        let unreclaimable_bytes =
            ran.unreclaimable_peak_bytes.context("neither the control group nor /proc says what the run needed")?;
        let (live_bytes, file_bytes) = (timeline.peak.live_bytes, ran.file_peak_bytes.unwrap_or(0));
        Ok((Point { batch, unreclaimable_bytes, live_bytes, file_bytes }, holder.word()))
    }

    /// Runs `batch` images with `budget` bytes in a control group.
    ///
    /// # Errors
    /// When no control group can be made: the address space is no measure of memory.
    pub(super) fn limited(&self, batch: u64, budget: u64) -> Result<Trial> {
        let limit = Limit(Some(budget));
        // Swap would let everything pass.
        let holder = Holder::make(Means::Auto, limit, Some(0))?;
        if let Holder::AddressSpace(reasons) = &holder {
            anyhow::bail!("no control group can be made here ({})", reasons.join("; "));
        }
        let (ran, _) = self.run(batch, &holder, limit)?;
        Ok(Trial {
            batch,
            passed: ran.status.success(),
            broke: ran.broke_the_limit(limit),
            exit_code: ran.exit_code(),
            unreclaimable_bytes: ran.unreclaimable_peak_bytes,
            peak_bytes: ran.counters.peak_bytes,
        })
    }

    fn run(&self, batch: u64, holder: &Holder, limit: Limit) -> Result<(Ran, std::path::PathBuf)> {
        let program = std::env::current_exe().context("cannot find this program's own file to start it again")?;
        let path = self.folder.join(format!("batch-{batch}.timeline.json"));
        let job = Job { work: self.work, batch, ..self.job };
        let mut command: Vec<OsString> = vec![program.into()];
        command.extend(job.arguments());
        command.extend(["--out".into(), path.clone().into(), "--json-times".into()]);
        Ok((limit::run(&command, holder, limit, limit::Stdout::Null)?, path))
    }
}
