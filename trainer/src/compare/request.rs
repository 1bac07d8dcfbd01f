//! What a comparison was asked for, checked before anything runs.
use std::path::Path;

use anyhow::{Result, ensure};

use crate::check;
use crate::child::Job;
use crate::cli::{CompareArgs, WorkArgs};
use crate::device::DeviceName;
use crate::settings::Mode;

/// The runs of a comparison.
pub(super) struct Request<'a> {
    /// Every model in every mode.
    pub(super) jobs: Vec<Job<'a>>,
    /// What is the same for all runs, in words.
    pub(super) conditions: String,
}

impl<'a> Request<'a> {
    /// Checks `args`; `data` is the folder of the images.
    pub(super) fn check(args: &'a CompareArgs, data: &'a Path) -> Result<Request<'a>> {
        let work = &args.work;
        ensure!(!args.models.is_empty() && !args.modes.is_empty(), "nothing to compare; give --models and --modes");
        check::amounts(work)?;
        check::optimizer(args.optimizer)?;
        work.device.make_ready()?;
        let threads = check::threads(work.threads)?;
        let mut jobs = Vec::new();
        for &model in &args.models {
            for &mode in &args.modes {
                check::sizes(model, work.batch, work.image_size, work.classes, mode == Mode::Train)?;
                check::memory(model, work, (mode == Mode::Train).then_some(args.optimizer))?;
                jobs.push(Job { model, mode, work, batch: work.batch, threads, data, optimizer: args.optimizer });
            }
        }
        check::writable_folder(&args.out)?;
        Ok(Request { jobs, conditions: conditions(work, threads) })
    }
}

/// What is the same for all runs, in words. The CPU is not named.
fn conditions(work: &WorkArgs, threads: u64) -> String {
    let (batch, side) = (work.batch, work.image_size);
    let device = match work.device {
        DeviceName::Cpu => String::new(),
        device => format!(", {device}"),
    };
    format!("batch {batch}, images of 3x{side}x{side}, {threads} thread(s){device}")
}
