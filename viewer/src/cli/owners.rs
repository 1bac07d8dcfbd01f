//! `viewer owners FILE [--top N] [--json]`.
use anyhow::Result;
use serde_json::json;

use crate::analysis::{made, own_figures};
use crate::cli::args::TableArgs;
use crate::cli::{Outcome, output};
use crate::load::load;
use crate::view::owners_text;

pub(super) fn run(args: &TableArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    if !args.json {
        return Ok(Outcome::Fine(owners_text(&run, args.top)));
    }
    let analysis = run.timeline.analysis.as_ref();
    Ok(Outcome::Fine(output::json(&json!({
        "coverage": analysis.map(|analysis| analysis.coverage),
        "figures": analysis.map(own_figures),
        "made": analysis.map(made),
        "flows": analysis.map(|analysis| &analysis.flows),
    }))?))
}
