//! The commands that answer one question about one timeline, as text or as JSON. The names of the JSON fields never change.
use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use crate::analysis;
use crate::cli::args::{FileArgs, StacksArgs, TableArgs};
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::load::load;
use crate::view;

/// `viewer summary FILE [--json]`.
pub(super) fn summary(args: &FileArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    answer(args.json, || analysis::summarise(&run), || view::summary_text(&run))
}

/// `viewer reconcile FILE [--json]`.
pub(super) fn reconcile(args: &FileArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let timeline = &run.timeline;
    let json = || {
        json!({
            "book": timeline.book,
            "lanes": timeline.lanes,
            "peak": { "time_ns": timeline.peak.time_ns, "live_bytes": timeline.peak.live_bytes },
        })
    };
    answer(args.json, json, || format!("{}\n\n{}", run.title(), view::reconcile_text(&run)))
}

/// `viewer owners FILE [--top N] [--json]`.
pub(super) fn owners(args: &TableArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let recorded = run.timeline.analysis.as_ref();
    let json = || {
        json!({
            "coverage": recorded.map(|recorded| recorded.coverage),
            "figures": recorded.map(analysis::figures_with_transient),
            "made": recorded.map(analysis::fates_by_place),
            "flows": recorded.map(|recorded| &recorded.flows),
        })
    };
    answer(args.json, json, || view::owners_text(&run, args.top))
}

/// `viewer growth FILE [--top N] [--json]`.
pub(super) fn growth(args: &TableArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let json = || {
        json!({
            "growth": analysis::step_growth(&run.timeline),
            "stacks": analysis::growing_sites(&run.timeline),
        })
    };
    answer(args.json, json, || view::growth_text(&run, args.top))
}

/// `viewer leaks FILE [--top N] [--json]`.
pub(super) fn leaks(args: &TableArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let at_exit = &run.timeline.at_exit.snapshot;
    let json = || {
        json!({
            "live_bytes": at_exit.live_bytes,
            "requested_bytes": at_exit.requested_bytes,
            "owners": analysis::leaks(&run.timeline),
        })
    };
    answer(args.json, json, || view::leaks_text(&run, args.top))
}

/// `viewer lifetimes FILE [--json]`.
pub(super) fn lifetimes(args: &FileArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let recorded = run.timeline.analysis.as_ref();
    let json = || {
        json!({
            "coverage": recorded.map(|recorded| recorded.coverage),
            "all": recorded.map(analysis::lifetimes),
            "by_category": recorded.map(|recorded| &recorded.histograms),
        })
    };
    answer(args.json, json, || view::lifetimes_text(&run))
}

/// `viewer stacks FILE [--of WHAT] [--top N] [--json | --folded]`.
pub(super) fn stacks(args: &StacksArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let measure = args.measure.into();
    if args.folded {
        return Ok(Outcome::Fine(output::lines(view::folded_stacks(&run, measure))));
    }
    let stacks = run.timeline.stacks.as_ref();
    let json = || {
        json!({
            "mean_bytes": stacks.map(|stacks| stacks.mean_bytes),
            "seed": stacks.map(|stacks| stacks.seed),
            "complete": stacks.map(|stacks| stacks.complete),
            "samples": stacks.map(|stacks| stacks.samples),
            "sites": analysis::sites(&run.timeline, measure),
            "others": stacks.map(|stacks| stacks.others),
        })
    };
    answer(args.json, json, || view::stacks_text(&run, measure, args.top))
}

/// Only the form that was asked for is computed.
fn answer<T: Serialize>(as_json: bool, json: impl FnOnce() -> T, text: impl FnOnce() -> String) -> Result<Outcome> {
    Ok(Outcome::Fine(if as_json { output::json(&json())? } else { text() }))
}
