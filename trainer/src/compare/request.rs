//! What a comparison was asked for, checked before anything runs.
use std::path::Path;

use anyhow::{Result, ensure};

use crate::check;
use crate::child::Job;
use crate::cli::CompareArgs;
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
        check::optimizer(args.sgd)?;
        let threads = check::threads(work.threads)?;
        let mut jobs = Vec::new();
        for &model in &args.models {
            for &mode in &args.modes {
                check::sizes(model, work.batch, work.image_size, work.classes, mode == Mode::Train)?;
                check::memory(model, work, (mode == Mode::Train).then_some(args.sgd))?;
                jobs.push(Job { model, mode, work, batch: work.batch, threads, data, sgd: args.sgd });
            }
        }
        check::writable_folder(&args.out)?;
        let (batch, side) = (work.batch, work.image_size);
        Ok(Request { jobs, conditions: format!("batch {batch}, images of 3x{side}x{side}, {threads} thread(s)") })
    }
}
