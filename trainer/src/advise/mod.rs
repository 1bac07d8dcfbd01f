//! `trainer advise`: what to change first, so that a training step takes less memory.
//!
//! ```text
//! network, batch -> the changes that it can be made with -> runs that take turns -> bytes saved, by layer, and time lost -> best first
//! ```
//!
//! Every run is tracked, the step as it is too, so its peak and its time are of one process.
mod change;
mod row;

mod measure;

mod table;

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};

use self::change::{Step, changes};
use self::measure::{Outcomes, measure};
use self::row::Row;
use self::table::Advice;
use crate::child::Job;
use crate::cli::AdviseArgs;
use crate::precision::Precision;
use crate::settings::Mode;
use crate::{check, console, exit_code, interrupt};

/// Runs every change of the step that `args` describes, and prints them, best first.
///
/// # Errors
/// When the step cannot be run as it is.
pub fn advise(args: &AdviseArgs) -> Result<ExitCode> {
    let &AdviseArgs { model, ref work, optimizer, repeat, json } = args;
    check::amounts(work)?;
    check::input(model, &work.input)?;
    check::objective(model, "advise")?;
    let (size, classes) = (work.input.size(model), work.input.classes(model));
    check::sizes(model, work.batch, size, classes, true)?;
    check::optimizer(optimizer)?;
    check::memory(model, work, Some(optimizer), Precision::Fp32)?;
    let data = check::data_folder(model, work.data.as_deref())?;
    let threads = check::threads(work.threads)?;
    interrupt::listen()?;
    let folder = tempfile::tempdir().context("there is no place for the timelines of the runs")?;
    let job = Job { model, mode: Mode::Train, work, batch: work.batch, threads, data: &data, optimizer };
    let changes = changes(&Step { model, batch: work.batch, size, classes, optimizer });
    let Some(Outcomes { plain, changes: outcomes }) = measure(&job, &changes, repeat, folder.path())? else {
        return Ok(ExitCode::from(exit_code::INTERRUPTED));
    };
    let plain = plain.map_err(|reason| anyhow!("{model} cannot be trained as it is: {reason}"))?;
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for (change, outcome) in changes.iter().zip(outcomes) {
        match outcome {
            Ok(changed) => rows.extend(Row::of(change.text(), change.result, &changed, &plain, work.seed)),
            Err(reason) => failed.push((change.text(), reason)),
        }
    }
    rows.sort_by(Row::better);
    let advice = Advice { job: &job, repeat, plain: &plain, rows: &rows, failed: &failed };
    console::print_result(&if json { advice.json() } else { advice.text() })?;
    Ok(ExitCode::SUCCESS)
}
