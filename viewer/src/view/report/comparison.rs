//! All runs of the page in one set of tables.
use alloc_timeline::{Dimension, NONE};
use maud::{Markup, html};

use crate::analysis::{Comparison, Line, compare};
use crate::model::{Run, change, exact, size};
use crate::view::compare_text::verdicts;
use crate::view::palette::colour;
use crate::view::report::page::anchor;

/// Rows of a table before the rest is folded away.
const MOST_ROWS: usize = 12;

/// The section that compares the runs with the first of them.
pub(super) fn section(runs: &[Run]) -> Markup {
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
                    (row(&figure(runs, |run| Some(run.timeline.peak.requested_bytes)), html! { "requested bytes" }))
                    (row(&figure(runs, Run::rss_peak), html! { "resident set, highest" }))
                    (row(&figure(runs, |run| Some(run.timeline.at_exit.snapshot.live_bytes)), html! { "alive at exit" }))
                }
            } }
            @for dimension in [Dimension::Category, Dimension::Phase, Dimension::Op, Dimension::Layer] {
                div { (table(&comparison, dimension)) }
            }
            }
        }
    }
}

fn figure(runs: &[Run], of: fn(&Run) -> Option<u64>) -> Line {
    Line { name: String::new(), bytes: runs.iter().map(of).collect() }
}

fn table(comparison: &Comparison<'_>, dimension: Dimension) -> Markup {
    let lines = comparison.by(dimension);
    let (first, rest) = lines.split_at(lines.len().min(MOST_ROWS));
    let rows = |lines: &[Line], skipped: usize| {
        html! {
            tbody {
                @for (rank, line) in lines.iter().enumerate() {
                    (row(line, html! {
                        @if matches!(dimension, Dimension::Category | Dimension::Phase) {
                            span.swatch style={ "background:" (colour(dimension, &line.name, rank + skipped)) } {}
                        }
                        @if line.name == NONE { "no " (dimension) } @else { (line.name) }
                    }))
                }
            }
        }
    };
    html! {
        table.numbers {
            caption { "By " (dimension) }
            (head(comparison, dimension.name()))
            (rows(first, 0))
        }
        @if !rest.is_empty() {
            details {
                summary { (rest.len()) " more" }
                table.numbers { (head(comparison, dimension.name())) (rows(rest, MOST_ROWS)) }
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
                    th scope="col" { a href={ "#" (anchor(index)) } { (run.label) } }
                    @if index > 0 { th.difference scope="col" { "to first" } }
                }
            }
        }
    }
}

fn row(line: &Line, name: Markup) -> Markup {
    html! {
        tr {
            th scope="row" { (name) }
            @for (index, bytes) in line.bytes.iter().enumerate() {
                @match bytes {
                    Some(bytes) => td title={ (exact(*bytes)) " bytes" } { (size(*bytes)) },
                    None => td {}
                }
                @if index > 0 {
                    @let difference = line.difference(index);
                    td.difference.more[difference > 0].less[difference < 0] {
                        @if bytes.is_some() || line.bytes[0].is_some() { (change(difference)) }
                    }
                }
            }
        }
    }
}
