//! `viewer times` and `viewer steps`: what costs time, as text or as JSON. The names of the JSON fields never change.
use std::path::Path;

use anyhow::{Result, anyhow};

use crate::analysis::{NoTimes, self_times, step_parts};
use crate::cli::args::TimesArgs;
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::load::load;
use crate::view;

/// `viewer times FILE [--skip N] [--top N] [--json]`.
pub(super) fn times(args: &TimesArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let times = self_times(&run.timeline, args.skip).map_err(|why| none(&args.file, why))?;
    if !args.json {
        return Ok(Outcome::Fine(view::times_text(&run, &times, args.top, output::terminal())));
    }
    Ok(Outcome::Fine(output::json(&times.figures())?))
}

/// `viewer steps FILE [--skip N] [--top N] [--json]`.
pub(super) fn steps(args: &TimesArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let parts = step_parts(&run.timeline, args.skip).map_err(|why| none(&args.file, why))?;
    Ok(Outcome::Fine(match args.json {
        true => output::json(&parts)?,
        false => view::steps_text(&run, &parts, args.top, output::terminal()),
    }))
}

fn none(file: &Path, why: NoTimes) -> anyhow::Error {
    anyhow!("{}: times: {why}", file.display())
}
