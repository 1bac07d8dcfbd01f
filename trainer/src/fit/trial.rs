//! One training run of a few steps inside a limit: what it needed, or how it ended.
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use alloc_timeline::Timeline;
use anyhow::{Context, Result, ensure};
use procfs::{Current, Meminfo};
use serde::Serialize;

use super::estimate::Point;
use crate::child::Job;
use crate::cli::WorkArgs;
use crate::figures::{median, mib};
use crate::limit::{self, Holder, Limit, Means, Ran};

/// The settings of jemalloc with which every freed page goes back to the kernel at once.
const GIVE_BACK: &str = "dirty_decay_ms:0,muzzy_decay_ms:0";
/// Where jemalloc looks for its settings.
const SETTINGS: &str = "_RJEM_MALLOC_CONF";

/// What the allocator does with freed pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pages {
    /// What the environment says or, if that says nothing, the tracker: it keeps them.
    AsSet,
    /// They go back to the kernel at once.
    GivenBack,
}

impl Pages {
    /// In words, behind the name of a batch.
    pub(super) fn text(self) -> &'static str {
        match self {
            Pages::AsSet => "",
            Pages::GivenBack => ", pages given back",
        }
    }

    /// What is to be typed in front of a command for it.
    pub(super) fn typed() -> String {
        format!("{SETTINGS}={GIVE_BACK}")
    }

    fn variables(self) -> Vec<(&'static str, String)> {
        match self {
            Pages::AsSet => Vec::new(),
            Pages::GivenBack => {
                // Of two settings of one thing the last one counts.
                let set = std::env::var(SETTINGS).ok().filter(|set| !set.is_empty());
                vec![(SETTINGS, set.map_or(GIVE_BACK.to_owned(), |set| format!("{set},{GIVE_BACK}")))]
            }
        }
    }
}

/// What a run without a limit told.
pub(super) struct Measured {
    pub(super) point: Point,
    /// Its own record.
    pub(super) timeline: Timeline,
    /// What counted: `cgroup-v2`, `cgroup-v1` or `address-space`.
    pub(super) by: &'static str,
    /// Whether the allocator can be told to give pages back: jemalloc can.
    pub(super) can_give_back: bool,
}

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

#[cfg(test)]
impl Trial {
    /// A run that passed, or that the kernel killed, of which nothing else is known.
    pub(super) fn ended(batch: u64, passed: bool) -> Trial {
        Trial { batch, passed, broke: !passed, exit_code: 0, unreclaimable_bytes: None, peak_bytes: None }
    }
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
    /// Runs `batch` images without a limit. Returns what it needed.
    pub(super) fn measure(&self, batch: u64, pages: Pages) -> Result<Measured> {
        let holder = Holder::make(Means::Auto, Limit(None), None)?;
        let (ran, path) = self.run(batch, pages, &holder, Limit(None))?;
        let advice = match ran.status.code() {
            Some(_) => "its message stands above",
            None => "where memory was short, end other programs or measure smaller batches",
        };
        ensure!(ran.status.success(), "batch {batch}: the measured run ended with {}; {advice}", ran.status);
        let timeline: Timeline = alloc_timeline::load(&path)?;
        let unreclaimable_bytes =
            ran.unreclaimable_peak_bytes.context("neither the control group nor /proc says what the run needed")?;
        let steps: Vec<u64> = timeline.steps.iter().skip(1).map(|step| step.end_ns - step.start_ns).collect();
        let point = Point {
            batch,
            unreclaimable_bytes,
            live_bytes: timeline.peak.live_bytes,
            file_bytes: ran.file_peak_bytes.unwrap_or(0),
            step_ns: median(&steps),
        };
        let can_give_back = timeline.allocator.backend == "jemalloc";
        Ok(Measured { point, timeline, by: holder.word(), can_give_back })
    }

    /// Runs `batch` images with `budget` bytes in a control group.
    ///
    /// # Errors
    /// When no control group can be made (the address space is no measure of memory), or the machine has less memory free.
    pub(super) fn limited(&self, batch: u64, pages: Pages, budget: u64) -> Result<Trial> {
        let free = Meminfo::current().ok().and_then(|memory| memory.mem_available).unwrap_or(u64::MAX);
        ensure!(
            budget <= free,
            "a run may take {} here, and {} of the machine's memory are free: others would be killed in its place",
            mib(budget),
            mib(free)
        );
        let limit = Limit(Some(budget));
        // Swap would let everything pass.
        let holder = Holder::make(Means::Auto, limit, Some(0))?;
        if let Holder::AddressSpace(reasons) = &holder {
            anyhow::bail!("no control group can be made here ({})", reasons.join("; "));
        }
        let (ran, _) = self.run(batch, pages, &holder, limit)?;
        Ok(Trial {
            batch,
            passed: ran.status.success(),
            broke: ran.broke_the_limit(limit) == Some(true),
            exit_code: ran.exit_code(),
            unreclaimable_bytes: ran.unreclaimable_peak_bytes,
            peak_bytes: ran.counters.peak_bytes,
        })
    }

    fn run(&self, batch: u64, pages: Pages, holder: &Holder, limit: Limit) -> Result<(Ran, PathBuf)> {
        let program = std::env::current_exe().context("cannot find this program's own file to start it again")?;
        let path = self.folder.join(format!("batch-{batch}.timeline.json"));
        let job = Job { work: self.work, batch, ..self.job };
        let mut command: Vec<OsString> = vec![program.into()];
        command.extend(job.arguments());
        command.extend(["--out".into(), path.clone().into(), "--json-times".into()]);
        Ok((limit::run(&command, &pages.variables(), holder, limit, limit::Stdout::Null)?, path))
    }
}
