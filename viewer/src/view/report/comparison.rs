//! The section that compares the runs of the page.
use alloc_timeline::{Dimension, NONE};
use maud::{Markup, html};

use crate::analysis::{Absent, Comparison, ComparisonRow, compare, compare_times};
use crate::model::{Run, change, exact, size};
use crate::view::palette::Colours;
use crate::view::report::elements::run_anchor;
use crate::view::words::names::name_in;
use crate::view::words::verdicts;

/// Number of rows of a table that are visible at first.
const MOST_ROWS: usize = 12;

/// The sentences, and tables that compare the runs with the first of them.
pub(super) fn section(runs: &[Run], colours: &Colours) -> Markup {
    let comparison = compare(runs);
    html! {
        section #comparison {
            h2 { "Side by side" }
            ul.verdicts { @for verdict in verdicts(&comparison) { li { (verdict) } } }
            div.beside {
            div { table.numbers {
                caption { "At the peak" }
                (head(&comparison, ""))
                tbody {
                    (row(&comparison.totals, html! { "live bytes" }))
                    (row(&comparison.figure(|run| Some(run.timeline.peak.requested_bytes)), html! { "requested bytes" }))
                    (row(&comparison.figure(Run::rss_peak), html! { "resident set, highest" }))
                    (row(&comparison.figure(|run| Some(run.timeline.at_exit.as_ref()?.snapshot.live_bytes)), html! { "alive at exit" }))
                }
            } }
            @for dimension in [Dimension::Category, Dimension::Phase, Dimension::Op, Dimension::Layer] {
                div { (table(&comparison, dimension, colours)) }
            }
            @if let Some(times) = compare_times(runs) {
                @for (name, rows) in &times.groups { div { (times_table(&comparison, name, rows)) } }
            }
            }
        }
    }
}

/// The names of one dimension. Those beyond the first rows are folded away.
fn table(comparison: &Comparison<'_>, dimension: Dimension, colours: &Colours) -> Markup {
    let rows = comparison.rows_by(dimension);
    let (first, rest) = rows.split_at(rows.len().min(MOST_ROWS));
    let body = |rows: &[ComparisonRow], skipped: usize| {
        html! {
            tbody {
                @for (rank, line) in rows.iter().enumerate() {
                    (row(line, html! {
                        @if matches!(dimension, Dimension::Category | Dimension::Phase) {
                            span.swatch style={ "background:" (colours.colour(dimension, &line.name, rank + skipped)) } {}
                        }
                        (name_in(dimension, &line.name))
                    }))
                }
            }
        }
    };
    html! {
        table.numbers {
            caption { "By " (dimension) }
            (head(comparison, dimension.name()))
            (body(first, 0))
        }
        @if !rest.is_empty() {
            details {
                summary { (rest.len()) " more" }
                table.numbers { (head(comparison, dimension.name())) (body(rest, MOST_ROWS)) }
            }
        }
    }
}

/// Self times by one kind of name, the longest first.
fn times_table(comparison: &Comparison<'_>, name: &str, rows: &[ComparisonRow]) -> Markup {
    let ms = |ns: f64| format!("{:.2}", ns / 1e6);
    html! {
        table.numbers {
            caption { "Self time in ms a step, by " (name) }
            (head(comparison, name))
            tbody {
                @for line in rows.iter().take(MOST_ROWS) {
                    tr {
                        th scope="row" { @if line.name == NONE { "no " (name) } @else { (line.name) } }
                        @for (index, ns) in line.figures.iter().enumerate() {
                            td { @if let Some(ns) = ns { (ms(*ns as f64)) } }
                            @if index > 0 {
                                td.difference { @if let Some(more) = line.known_difference(index) { (format!("{:+.2}", more as f64 / 1e6)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn head(comparison: &Comparison<'_>, first: &str) -> Markup {
    html! {
        thead {
            tr {
                th scope="col" { (first) }
                @for (index, run) in comparison.runs.iter().enumerate() {
                    th scope="col" { a href={ "#" (run_anchor(index)) } { (run.label) } }
                    @if index > 0 { th.difference scope="col" { "to first" } }
                }
            }
        }
    }
}

fn row(line: &ComparisonRow, name: Markup) -> Markup {
    html! {
        tr {
            th scope="row" { (name) }
            @for (index, bytes) in line.figures.iter().enumerate() {
                @match bytes {
                    Some(bytes) => td title={ (exact(*bytes)) " bytes" } { (size(*bytes)) },
                    None => td { @if line.absent == Absent::NotKnown { "not known" } }
                }
                @if index > 0 {
                    @let difference = line.known_difference(index);
                    td.difference.more[difference > Some(0)].less[difference.is_some_and(|difference| difference < 0)] {
                        @if let Some(difference) = difference { (change(difference)) }
                    }
                }
            }
        }
    }
}
