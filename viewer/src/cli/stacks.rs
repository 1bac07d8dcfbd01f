//! `viewer stacks FILE [--of WHAT] [--top N] [--json | --folded]`.
use anyhow::Result;
use serde_json::json;

use crate::analysis::sites;
use crate::cli::args::StacksArgs;
use crate::cli::{Outcome, output};
use crate::load::load;
use crate::view::{folded_stacks, stacks_text};

pub(super) fn run(args: &StacksArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let measure = args.of.into();
    if args.folded {
        return Ok(Outcome::Fine(folded_stacks(&run, measure).into_iter().map(|line| line + "\n").collect()));
    }
    if !args.json {
        return Ok(Outcome::Fine(stacks_text(&run, measure, args.top)));
    }
    let stacks = run.timeline.stacks.as_ref();
    Ok(Outcome::Fine(output::json(&json!({
        "mean_bytes": stacks.map(|stacks| stacks.mean_bytes),
        "seed": stacks.map(|stacks| stacks.seed),
        "complete": stacks.map(|stacks| stacks.complete),
        "samples": stacks.map(|stacks| stacks.samples),
        "sites": sites(&run.timeline, measure),
        "others": stacks.map(|stacks| stacks.others),
    }))?))
}
