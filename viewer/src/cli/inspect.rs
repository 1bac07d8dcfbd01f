//! The commands that answer one question about one timeline, as text or as JSON. The names of the JSON fields never change.
use alloc_timeline::{Dimension, Timeline};
use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use crate::analysis::{self, Summary};
use crate::cli::args::{FileArgs, StackRows, StacksArgs, TableArgs};
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::load::load;
use crate::view::{self, RssExplained};

/// What `summary --json` prints.
#[derive(Serialize)]
struct SummaryJson {
    #[serde(flatten)]
    summary: Summary,
    /// Why the resident set at the peak is not the live bytes; null where there is no book.
    rss_over_live: Option<RssExplained>,
}

/// `viewer summary FILE [--json]`.
pub(super) fn summary(args: &FileArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let timeline = &run.timeline;
    let json = || SummaryJson {
        summary: analysis::summarise(&run),
        rss_over_live: timeline.book.as_ref().and_then(|book| view::rss_explained(book, timeline)),
    };
    answer(args.json, json, || view::summary_text(&run, output::terminal()))
}

/// `viewer owners FILE [--top N] [--json]`.
pub(super) fn owners(args: &TableArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let recorded = run.timeline.analysis.as_ref();
    let json = || {
        let answer = json!({
            "coverage": recorded.map(|recorded| recorded.coverage),
            "figures": recorded.map(analysis::figures_with_transient),
            "made": recorded.map(analysis::fates_by_place),
            "flows": recorded.map(|recorded| &recorded.flows),
        });
        with_layer_costs(answer, &run.timeline)
    };
    answer(args.json, json, || view::owners_text(&run, args.top, output::terminal()))
}

/// `viewer growth FILE [--top N] [--json]`.
pub(super) fn growth(args: &TableArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let json = || {
        let answer = json!({
            "growth": analysis::step_growth(&run.timeline),
            "stacks": analysis::growing_sites(&run.timeline),
        });
        with_layer_costs(answer, &run.timeline)
    };
    answer(args.json, json, || view::growth_text(&run, args.top, output::terminal()))
}

/// `viewer leaks FILE [--top N] [--json]`.
pub(super) fn leaks(args: &TableArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let at_exit = run.timeline.at_exit.as_ref().map(|at_exit| &at_exit.snapshot);
    let json = || {
        let answer = json!({
            "live_bytes": at_exit.map(|at_exit| at_exit.live_bytes),
            "requested_bytes": at_exit.map(|at_exit| at_exit.requested_bytes),
            "owners": at_exit.map(|_| analysis::leaks(&run.timeline)),
        });
        with_layer_costs(answer, &run.timeline)
    };
    answer(args.json, json, || view::leaks_text(&run, args.top, output::terminal()))
}

/// `viewer unread FILE [--top N] [--json]`.
pub(super) fn unread(args: &TableArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let recorded = run.timeline.unread.as_ref();
    let storages = analysis::unread(&run.timeline);
    let json = || {
        let answer = json!({
            "live_bytes": recorded.map(|recorded| recorded.live_bytes),
            "read_later": recorded.map(|recorded| recorded.read_later),
            "workspace": recorded.map(|recorded| recorded.workspace),
            "unread": recorded.map(|recorded| recorded.unread),
            "unknown_bytes": recorded.map(|recorded| recorded.unknown_bytes),
            "prompt_peak_bytes": recorded.map(|recorded| recorded.prompt_peak_bytes),
            "prompt_peak_ns": recorded.map(|recorded| recorded.prompt_peak_ns),
            "releases": analysis::releases(&storages),
            "storages": storages,
        });
        with_layer_costs(answer, &run.timeline)
    };
    answer(args.json, json, || view::unread_text(&run, args.top, output::terminal()))
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
    answer(args.json, json, || view::lifetimes_text(&run, output::terminal()))
}

/// `viewer power FILE [--top N] [--json]`.
pub(super) fn power(args: &TableArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let timeline = &run.timeline;
    let json = || {
        let dimensions = [Dimension::Phase, Dimension::Layer, Dimension::Op];
        let usage = dimensions.map(|by| (format!("by_{by}"), json!(analysis::usage_by(timeline, by))));
        let mut out: serde_json::Map<String, serde_json::Value> = usage.into_iter().collect();
        out.insert("utilisation".to_owned(), json!(timeline.utilisation));
        out.insert("energy".to_owned(), json!(timeline.energy));
        let sampling: Vec<_> = dimensions.into_iter().filter_map(|by| analysis::sampling_error(timeline, by)).collect();
        out.insert("sampling".to_owned(), json!(sampling));
        out.insert("lanes".to_owned(), json!(analysis::use_lanes(&run)));
        out
    };
    answer(args.json, json, || view::power_text(&run, args.top, output::terminal()))
}

/// `viewer stacks FILE [--of WHAT] [--by WHAT] [--top N] [--json | --folded]`.
pub(super) fn stacks(args: &StacksArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let measure = args.measure.into();
    if args.folded {
        return Ok(Outcome::Fine(output::lines(view::folded_stacks(&run, measure))));
    }
    let stacks = run.timeline.stacks.as_ref();
    let json = || {
        let answer = json!({
            "mean_bytes": stacks.map(|stacks| stacks.mean_bytes),
            "seed": stacks.map(|stacks| stacks.seed),
            "complete": stacks.map(|stacks| stacks.complete),
            "samples": stacks.map(|stacks| stacks.samples),
            "sites": analysis::sites(&run.timeline, measure),
            "others": stacks.map(|stacks| stacks.others),
            "objects": analysis::objects(&run.timeline, measure),
            "threads": analysis::threads(&run.timeline, measure),
        });
        with_layer_costs(answer, &run.timeline)
    };
    let text = match args.rows {
        StackRows::Stack => view::stacks_text,
        StackRows::Object => view::objects_text,
        StackRows::Thread => view::threads_text,
    };
    answer(args.json, json, || text(&run, measure, args.top, output::terminal()))
}

/// The answer with what each layer costs in time and energy, so that scripts find it for each name of a layer. As it is where
/// no times were measured.
fn with_layer_costs(mut answer: Value, timeline: &Timeline) -> Value {
    if let Some(costs) = analysis::layer_costs(timeline) {
        answer["layer_costs"] = json!(costs);
    }
    answer
}

/// Only the form that was asked for is computed.
fn answer<T: Serialize>(as_json: bool, json: impl FnOnce() -> T, text: impl FnOnce() -> String) -> Result<Outcome> {
    Ok(Outcome::Fine(if as_json { output::json(&json())? } else { text() }))
}
