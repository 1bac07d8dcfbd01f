//! `viewer growth FILE [--top N] [--json]`.
use anyhow::Result;
use serde_json::json;

use crate::analysis::{growing_sites, step_growth};
use crate::cli::args::TableArgs;
use crate::cli::{Outcome, output};
use crate::load::load;
use crate::view::growth_text;

pub(super) fn run(args: &TableArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    if !args.json {
        return Ok(Outcome::Fine(growth_text(&run, args.top)));
    }
    Ok(Outcome::Fine(output::json(&json!({
        "growth": step_growth(&run.timeline),
        "stacks": growing_sites(&run.timeline),
    }))?))
}
