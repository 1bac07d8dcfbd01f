//! `viewer leaks FILE [--top N] [--json]`.
use anyhow::Result;
use serde_json::json;

use crate::analysis::leaks;
use crate::cli::args::TableArgs;
use crate::cli::{Outcome, output};
use crate::load::load;
use crate::view::leaks_text;

pub(super) fn run(args: &TableArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    if !args.json {
        return Ok(Outcome::Fine(leaks_text(&run, args.top)));
    }
    let at_exit = &run.timeline.at_exit.snapshot;
    Ok(Outcome::Fine(output::json(&json!({
        "live_bytes": at_exit.live_bytes,
        "requested_bytes": at_exit.requested_bytes,
        "owners": leaks(&run.timeline),
    }))?))
}
