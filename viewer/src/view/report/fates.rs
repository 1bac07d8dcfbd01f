//! The section about what became of the blocks of one run: growth from step to step, the figures of phases and layers, the
//! fates of blocks by place, sizes and lifetimes.
use alloc_timeline::{Analysis, Bucket};
use maud::{Markup, html};

use crate::analysis::{FigureOwners, PlaceFates, StepGrowth, fates_by_place, figures_of, lifetimes, step_growth};
use crate::model::{Run, change, exact, share, size, time};
use crate::view::report::elements::{bar, cells, heads, with_kind};
use crate::view::words::names::{figure_name, owner_name, place_name, place_or_others};
use crate::view::words::owners::{coverage_sentence, largest_categories, retained_at_word};
use crate::view::words::time_columns::{TimeColumns, Times};
use crate::view::words::trend::{growth_sentences, others_name, rate_words, trend_words};

/// Rows of each table.
const MOST_ROWS: usize = 15;
/// Width and height of a small chart.
const CHART: (u32, u32) = (160, 22);

/// The section; empty for a timeline without an analysis.
pub(super) fn section(run: &Run) -> Markup {
    let Some(analysis) = &run.timeline.analysis else { return html! {} };
    html! {
        @if let Some(growth) = step_growth(&run.timeline).filter(|growth| !growth.steps.is_empty()) {
            h3 { "From step to step" }
            (growth_table(run, &growth))
        }
        h3 { "Peak, retained, transient" }
        p.dim {
            "Retained is what was left when the phase was last left, or else when the last step ended; transient is the peak "
            "less that. The largest block is the largest known by address."
        }
        (figures(run, analysis))
        h3 { "What became of the blocks" }
        p.dim { (coverage_sentence(&analysis.coverage)) "." }
        (fates(run, analysis))
        (histograms(analysis))
    }
}

fn growth_table(run: &Run, growth: &StepGrowth) -> Markup {
    let times = TimeColumns::new(&run.timeline, Times::OfLayer);
    let sentences = growth_sentences(growth);
    let last = |column: &[u64]| column.last().copied().unwrap_or(0);
    let rest = growth.owners.get(MOST_ROWS..).unwrap_or_default();
    html! {
        @if sentences.is_empty() { p { "Nothing grows." } }
        @else { ul.verdicts { @for sentence in sentences.iter().take(MOST_ROWS) { li { (sentence) } } } }
        table.numbers.bars.timed[times.any()] {
            thead {
                tr {
                    th scope="col" { "owner" } th.text scope="col" { "category" } th scope="col" { "held last" }
                    th scope="col" { "a step" } th.text scope="col" { "what it does" } th.text scope="col" { "course" } (heads(&times))
                }
            }
            tbody {
                @for owner in growth.owners.iter().take(MOST_ROWS) {
                    tr {
                        th scope="row" { (with_kind(run, &owner_name(&owner.scope), &owner.scope.layer)) } td.text { (owner.category) }
                        td title={ (exact(owner.last_bytes())) " bytes" } { (size(owner.last_bytes())) }
                        td { (rate_words(&owner.trend)) } td.text { (trend_words(&owner.trend)) } td.text { (chart(&owner.live_bytes)) }
                        (cells(times.of_layer(&owner.scope.layer)))
                    }
                }
                @if !rest.is_empty() {
                    @let held = rest.iter().map(|owner| owner.last_bytes()).sum();
                    tr.rest { th scope="row" { "rest (" (rest.len()) " owners)" } td.text {} td { (size(held)) } td {} td.text {} td.text {} (cells(times.blank())) }
                }
                tr.rest {
                    th scope="row" { (others_name(&growth.others)) } td.text {} td { (size(last(&growth.other_bytes))) }
                    td {} td.text { (trend_words(&growth.others)) } td.text { (chart(&growth.other_bytes)) } (cells(times.blank()))
                }
            }
            tfoot {
                tr {
                    th scope="row" { "= live" } td.text {} td { (size(last(&growth.live_bytes))) }
                    td { (change(growth.bytes_per_step.into())) } td.text {} td.text { (chart(&growth.live_bytes)) } (cells(times.blank()))
                }
            }
        }
    }
}

/// A small chart of `values` as a line.
fn chart(values: &[u64]) -> Markup {
    let (low, high) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
    let (width, height) = (f64::from(CHART.0), f64::from(CHART.1));
    let x = |index: usize| index as f64 * width / (values.len().max(2) - 1) as f64;
    let y = |value: u64| height - 1.0 - (value - low) as f64 * (height - 2.0) / (high - low).max(1) as f64;
    let points: Vec<String> =
        values.iter().enumerate().map(|(index, &value)| format!("{:.1},{:.1}", x(index), y(value))).collect();
    html! {
        svg width=(CHART.0) height=(CHART.1) viewBox={ "0 0 " (CHART.0) " " (CHART.1) } aria-hidden="true" {
            polyline points=(points.join(" ")) fill="none" stroke="var(--bar)" stroke-width="1.5" {}
        }
    }
}

/// Peak, retained bytes, transient bytes and largest block, of phases and of layers in phases.
fn figures(run: &Run, analysis: &Analysis) -> Markup {
    let times = TimeColumns::new(&run.timeline, Times::Whole);
    let table = |owners: FigureOwners, caption: &str| {
        let with_layer = owners == FigureOwners::LayersInPhases;
        let all = figures_of(analysis, owners);
        let most = all.first().map_or(1, |figures| figures.peak_bytes);
        html! {
            table.numbers.bars.timed[times.any()] {
                caption { (caption) }
                thead {
                    tr {
                        @if with_layer { th.text scope="col" { "layer" } }
                        th.text scope="col" { "phase" } th scope="col" { "peak" } th scope="col" { "retained" }
                        th.text scope="col" { "at end of" } th scope="col" { "transient" } th scope="col" { "largest block" }
                        @if !with_layer { th scope="col" { "process then" } th.text scope="col" { "mostly" } }
                        (heads(&times))
                        th.track scope="col" {}
                    }
                }
                tbody {
                    @for figures in all.iter().take(MOST_ROWS) {
                        tr {
                            @if with_layer { th scope="row" { (with_kind(run, figure_name(figures.layer.as_deref()), figures.layer.as_deref().unwrap_or_default())) } }
                            td.text { (figure_name(figures.phase.as_deref())) }
                            td title={ (exact(figures.peak_bytes)) " bytes" } { (size(figures.peak_bytes)) }
                            td title={ (exact(figures.retained_bytes)) " bytes" } { (size(figures.retained_bytes)) }
                            td.text { (retained_at_word(figures)) }
                            td { (size(figures.transient_bytes())) }
                            td { @if figures.largest_block_bytes > 0 { (size(figures.largest_block_bytes)) } @else { "-" } }
                            @if !with_layer { td { (size(figures.process_bytes)) } td.text { (largest_categories(figures)) } }
                            (cells(times.of_figures(figures)))
                            (bar(0, figures.peak_bytes, most, "var(--bar)"))
                        }
                    }
                }
            }
            @if all.len() > MOST_ROWS { p.dim { (all.len() - MOST_ROWS) " more with smaller peaks." } }
        }
    };
    html! { (table(FigureOwners::Phases, "Phases")) (table(FigureOwners::LayersInPhases, "Layers in phases")) }
}

/// The layer of the place in which blocks were made; the empty name for the places that are not told apart.
fn layer_in(fates: &PlaceFates) -> &str {
    fates.place.as_ref().map_or("", |place| &place.layer)
}

/// What became of the blocks of each place.
fn fates(run: &Run, analysis: &Analysis) -> Markup {
    let times = TimeColumns::new(&run.timeline, Times::Whole);
    let all = fates_by_place(analysis);
    let most = all.first().map_or(1, |fates| fates.all.usable_bytes);
    let rest = all.get(MOST_ROWS..).unwrap_or_default();
    html! {
        table.numbers.bars.timed[times.any()] {
            caption { "By where they were made" }
            thead {
                tr {
                    th scope="col" { "made in" } th scope="col" { "bytes" } th scope="col" { "temporary" }
                    th scope="col" { "freed later" } th scope="col" { "held" } th.text scope="col" { "mostly freed in" }
                    (heads(&times)) th.track scope="col" {}
                }
            }
            tbody {
                @for fates in all.iter().take(MOST_ROWS) {
                    @let bytes = fates.all.usable_bytes;
                    tr {
                        th scope="row" { (with_kind(run, &place_or_others(fates.place.as_ref()), layer_in(fates))) }
                        td title={ (exact(bytes)) " bytes in " (exact(fates.all.blocks)) " blocks" } { (size(bytes)) }
                        @for part in [fates.temporary, fates.freed, fates.held] { td { (share(part.usable_bytes, bytes)) } }
                        td.text { (fates.freed_mostly_in.as_ref().map_or("-".to_owned(), |(place, _)| place_name(place))) }
                        (cells(times.of_place(fates.place.as_ref())))
                        (bar(0, bytes, most, "var(--bar)"))
                    }
                }
                @if !rest.is_empty() {
                    @let bytes = rest.iter().map(|fates| fates.all.usable_bytes).fold(0, u64::saturating_add);
                    tr.rest { th scope="row" { "rest (" (rest.len()) " places)" } td { (size(bytes)) } td {} td {} td {} td.text {} (cells(times.blank())) td.track {} }
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
            div { (histogram("Lifetimes of those freed", &all.lifetimes, time)) }
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
