//! What became of the blocks, on the page: growth from step to step, the four figures, the ownership matrix, sizes and
//! lifetimes.
use alloc_timeline::{Analysis, Bucket};
use maud::{Markup, html};

use crate::analysis::{Kind, StepGrowth, figures, lifetimes, made, over, place_name, step_growth};
use crate::model::{Run, change, exact, share, size};
use crate::view::owners_text::{covered, mostly};
use crate::view::report::tables::bar;
use crate::view::trend_text::{growers, owner_name, rate, words};

/// Rows of each table.
const MOST_ROWS: usize = 15;
/// Size of the picture of a course.
const COURSE: (u32, u32) = (160, 22);

/// All of it; nothing for a run of a recorder that did not look.
pub(super) fn section(run: &Run) -> Markup {
    let Some(analysis) = &run.timeline.analysis else { return html! {} };
    html! {
        @if let Some(growth) = step_growth(&run.timeline).filter(|growth| !growth.steps.is_empty()) {
            h3 { "From step to step" }
            (growth_table(&growth))
        }
        h3 { "Peak, retained, transient" }
        p.dim {
            "Retained is what was left when the phase was last left, or else when the last step ended; transient is the peak "
            "less that. The largest block is the largest known by address."
        }
        (four_figures(analysis))
        h3 { "What became of the blocks" }
        p.dim { (covered(&analysis.coverage)) "." }
        (fates(analysis))
        (histograms(analysis))
    }
}

fn growth_table(growth: &StepGrowth) -> Markup {
    let lines = growers(growth);
    let last = |column: &[u64]| column.last().copied().unwrap_or(0);
    let rest = growth.owners.get(MOST_ROWS..).unwrap_or_default();
    html! {
        @if lines.is_empty() { p { "Nothing grows." } }
        @else { ul.verdicts { @for line in lines.iter().take(MOST_ROWS) { li { (line) } } } }
        table.numbers.bars {
            thead {
                tr {
                    th scope="col" { "owner" } th.text scope="col" { "category" } th scope="col" { "held last" }
                    th scope="col" { "a step" } th.text scope="col" { "what it does" } th.text scope="col" { "course" }
                }
            }
            tbody {
                @for owner in growth.owners.iter().take(MOST_ROWS) {
                    tr {
                        th scope="row" { (owner_name(owner)) } td.text { (owner.category) }
                        td title={ (exact(owner.last_bytes())) " bytes" } { (size(owner.last_bytes())) }
                        td { (rate(&owner.trend)) } td.text { (words(&owner.trend)) } td.text { (course(&owner.live_bytes)) }
                    }
                }
                @if !rest.is_empty() {
                    @let held = rest.iter().map(|owner| owner.last_bytes()).sum();
                    tr.rest { th scope="row" { "rest (" (rest.len()) " owners)" } td.text {} td { (size(held)) } td {} td.text {} td.text {} }
                }
                tr.rest {
                    th scope="row" { "those that did not change" } td.text {} td { (size(last(&growth.other_bytes))) }
                    td {} td.text { (words(&growth.others)) } td.text { (course(&growth.other_bytes)) }
                }
            }
            tfoot {
                tr {
                    th scope="row" { "= live" } td.text {} td { (size(last(&growth.live_bytes))) }
                    td { (change(growth.bytes_per_step.into())) } td.text {} td.text { (course(&growth.live_bytes)) }
                }
            }
        }
    }
}

/// The course of `values` as a line.
fn course(values: &[u64]) -> Markup {
    let (low, high) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
    let (width, height) = (f64::from(COURSE.0), f64::from(COURSE.1));
    let x = |index: usize| index as f64 * width / (values.len().max(2) - 1) as f64;
    let y = |value: u64| height - 1.0 - (value - low) as f64 * (height - 2.0) / (high - low).max(1) as f64;
    let points: Vec<String> =
        values.iter().enumerate().map(|(index, &value)| format!("{:.1},{:.1}", x(index), y(value))).collect();
    html! {
        svg width=(COURSE.0) height=(COURSE.1) viewBox={ "0 0 " (COURSE.0) " " (COURSE.1) } aria-hidden="true" {
            polyline points=(points.join(" ")) fill="none" stroke="var(--bar)" stroke-width="1.5" {}
        }
    }
}

fn four_figures(analysis: &Analysis) -> Markup {
    let named = |name: &Option<String>| match name.as_deref() {
        None | Some("") => "-".to_owned(),
        Some(name) => name.to_owned(),
    };
    let table = |kind: Kind, caption: &str| {
        let all = figures(analysis, kind);
        let most = all.first().map_or(1, |figures| figures.peak_bytes);
        html! {
            table.numbers.bars {
                caption { (caption) }
                thead {
                    tr {
                        @if kind == Kind::Cell { th.text scope="col" { "layer" } }
                        th.text scope="col" { "phase" } th scope="col" { "peak" } th scope="col" { "retained" }
                        th.text scope="col" { "at end of" } th scope="col" { "transient" } th scope="col" { "largest block" }
                        @if kind == Kind::Phase { th scope="col" { "process then" } th.text scope="col" { "mostly" } }
                        th.track scope="col" {}
                    }
                }
                tbody {
                    @for figures in all.iter().take(MOST_ROWS) {
                        tr {
                            @if kind == Kind::Cell { th scope="row" { (named(&figures.layer)) } }
                            td.text { (named(&figures.phase)) }
                            td title={ (exact(figures.peak_bytes)) " bytes" } { (size(figures.peak_bytes)) }
                            td title={ (exact(figures.retained_bytes)) " bytes" } { (size(figures.retained_bytes)) }
                            td.text { (over(figures.retained_at)) }
                            td { (size(figures.transient_bytes())) }
                            td { @if figures.largest_block_bytes > 0 { (size(figures.largest_block_bytes)) } @else { "-" } }
                            @if kind == Kind::Phase { td { (size(figures.process_bytes)) } td.text { (mostly(figures)) } }
                            (bar(0, figures.peak_bytes, most, "var(--bar)"))
                        }
                    }
                }
            }
            @if all.len() > MOST_ROWS { p.dim { (all.len() - MOST_ROWS) " more with smaller peaks." } }
        }
    };
    html! { (table(Kind::Phase, "Phases")) (table(Kind::Cell, "Layers in phases")) }
}

fn fates(analysis: &Analysis) -> Markup {
    let all = made(analysis);
    let most = all.first().map_or(1, |made| made.all.usable_bytes);
    let rest = all.get(MOST_ROWS..).unwrap_or_default();
    html! {
        table.numbers.bars {
            caption { "By where they were made" }
            thead {
                tr {
                    th scope="col" { "made in" } th scope="col" { "bytes" } th scope="col" { "temporary" }
                    th scope="col" { "freed later" } th scope="col" { "held" } th.text scope="col" { "mostly freed in" }
                    th.track scope="col" {}
                }
            }
            tbody {
                @for made in all.iter().take(MOST_ROWS) {
                    @let bytes = made.all.usable_bytes;
                    tr {
                        th scope="row" { (made.place.as_ref().map_or("other places".to_owned(), place_name)) }
                        td title={ (exact(bytes)) " bytes in " (exact(made.all.blocks)) " blocks" } { (size(bytes)) }
                        @for part in [made.temporary, made.freed, made.held] { td { (share(part.usable_bytes, bytes)) } }
                        td.text { (made.freed_mostly_in.as_ref().map_or("-".to_owned(), |(place, _)| place_name(place))) }
                        (bar(0, bytes, most, "var(--bar)"))
                    }
                }
                @if !rest.is_empty() {
                    @let bytes = rest.iter().map(|made| made.all.usable_bytes).fold(0, u64::saturating_add);
                    tr.rest { th scope="row" { "rest (" (rest.len()) " places)" } td { (size(bytes)) } td {} td {} td {} td.text {} td.track {} }
                }
            }
        }
    }
}

fn histograms(analysis: &Analysis) -> Markup {
    let all = lifetimes(analysis);
    html! {
        div.columns {
            div { (histogram("Sizes", &all.sizes, size)) }
            div { (histogram("Lifetimes of those freed", &all.lifetimes, crate::model::time)) }
        }
        p.dim { "Each line goes to twice its beginning; bars are bytes. " (exact(all.held.blocks)) " blocks, " (size(all.held.usable_bytes)) ", are not freed yet." }
    }
}

fn histogram(caption: &str, buckets: &[Bucket], label: fn(u64) -> String) -> Markup {
    let most = buckets.iter().map(|bucket| bucket.sums.usable_bytes).max().unwrap_or(1);
    html! {
        table.numbers.bars {
            caption { (caption) }
            thead { tr { th scope="col" { "from" } th scope="col" { "blocks" } th scope="col" { "bytes" } th.track scope="col" {} } }
            tbody {
                @for bucket in buckets {
                    tr {
                        th scope="row" { (label(bucket.from)) } td { (exact(bucket.sums.blocks)) }
                        td { (size(bucket.sums.usable_bytes)) } (bar(0, bucket.sums.usable_bytes, most, "var(--bar)"))
                    }
                }
            }
        }
    }
}
