//! `viewer reconcile FILE [--json]`.
use anyhow::Result;
use serde_json::json;

use crate::cli::args::FileArgs;
use crate::cli::{Outcome, output};
use crate::load::load;
use crate::view::reconcile_text;

pub(super) fn run(args: &FileArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    if args.json {
        let timeline = &run.timeline;
        return Ok(Outcome::Fine(output::json(&json!({
            "book": timeline.book,
            "lanes": timeline.lanes,
            "peak": { "time_ns": timeline.peak.time_ns, "live_bytes": timeline.peak.live_bytes },
        }))?));
    }
    Ok(Outcome::Fine(format!("{}\n\n{}", run.title(), reconcile_text(&run))))
}
