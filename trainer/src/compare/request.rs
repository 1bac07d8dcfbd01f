//! What a comparison was asked for, checked before anything runs.
use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::check;
use crate::child::Job;
use crate::cli::{CompareArgs, WorkArgs};
use crate::device::DeviceName;
use crate::model::ModelName;
use crate::precision::Precision;
use crate::settings::Mode;

/// The runs of a comparison.
pub(super) struct Request<'a> {
    /// Every model in every mode.
    pub(super) jobs: Vec<Job<'a>>,
    /// What is the same for all runs, in words.
    pub(super) conditions: String,
}

impl<'a> Request<'a> {
    /// Checks `args`; `data` has the folder of each model's data.
    pub(super) fn check(args: &'a CompareArgs, data: &'a [PathBuf]) -> Result<Request<'a>> {
        let work = &args.work;
        ensure!(!args.models.is_empty() && !args.modes.is_empty(), "nothing to compare; give --models and --modes");
        check::amounts(work)?;
        check::optimizer(args.optimizer)?;
        work.device.make_ready()?;
        let threads = check::threads(work.threads)?;
        let mut jobs = Vec::new();
        for (&model, data) in args.models.iter().zip(data) {
            for &mode in &args.modes {
                let (size, classes) = (work.input.size(model), work.input.classes(model));
                check::sizes(model, work.batch, size, classes, mode == Mode::Train)?;
                check::memory(model, work, (mode == Mode::Train).then_some(args.optimizer), Precision::Fp32)?;
                jobs.push(Job { model, mode, work, batch: work.batch, threads, data, optimizer: args.optimizer });
            }
        }
        check::writable_folder(&args.out)?;
        Ok(Request { jobs, conditions: conditions(&args.models, work, threads) })
    }
}

/// What is the same for all runs, in words. The CPU is not named.
fn conditions(models: &[ModelName], work: &WorkArgs, threads: u64) -> String {
    let batch = work.batch;
    let device = match work.device {
        DeviceName::Cpu => String::new(),
        device => format!(", {device}"),
    };
    let mut inputs: Vec<String> = models.iter().map(|&model| model.input_text(work.input.size(model))).collect();
    inputs.sort();
    inputs.dedup();
    format!("batch {batch}, {}, {threads} thread(s){device}", inputs.join(" or "))
}
