//! `viewer lifetimes FILE [--json]`.
use anyhow::Result;
use serde_json::json;

use crate::analysis::lifetimes;
use crate::cli::args::FileArgs;
use crate::cli::{Outcome, output};
use crate::load::load;
use crate::view::lifetimes_text;

pub(super) fn run(args: &FileArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    if !args.json {
        return Ok(Outcome::Fine(lifetimes_text(&run)));
    }
    let analysis = run.timeline.analysis.as_ref();
    Ok(Outcome::Fine(output::json(&json!({
        "coverage": analysis.map(|analysis| analysis.coverage),
        "all": analysis.map(lifetimes),
        "by_category": analysis.map(|analysis| &analysis.histograms),
    }))?))
}
