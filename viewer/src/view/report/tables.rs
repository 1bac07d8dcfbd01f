//! The tables of the section about one run.
use alloc_timeline::{Category, Dimension, Snapshot, Step};
use maud::{Markup, html};

use crate::analysis;
use crate::model::{Run, exact, share, size, time};
use crate::view::palette::{Colours, category_colour};
use crate::view::report::elements::{bar, cells, heads, row_name, with_kind};
use crate::view::words::facts::NO_END;
use crate::view::words::names::{name_in, name_or_dash};
use crate::view::words::time_columns::{TimeColumns, Times};

/// Number of rows of a table that are visible at first.
const MOST_ROWS: usize = 10;
/// Number of steps that are displayed at the beginning, and as many at the end.
const MOST_STEPS: usize = 12;

/// Bytes, exact and rounded, and their share.
fn bytes_cells(bytes: u64, whole: u64) -> Markup {
    html! { td { (exact(bytes)) } td { (size(bytes)) } td { (share(bytes, whole)) } }
}

/// The peak by one dimension, with bars.
pub(super) fn parts(run: &Run, dimension: Dimension, colours: &Colours) -> Markup {
    let parts = run.peak_by(dimension);
    let live = run.timeline.peak.live_bytes;
    let most = parts.first().map_or(1, |part| part.1);
    let times = TimeColumns::for_dimension(&run.timeline, dimension);
    let rows = |parts: &[(String, u64)], skipped: usize| {
        html! {
            tbody {
                @for (rank, (name, bytes)) in parts.iter().enumerate() {
                    @let fill = match dimension {
                        Dimension::Layer | Dimension::Op => "var(--bar)".to_owned(),
                        _ => colours.colour(dimension, name, rank + skipped).to_string(),
                    };
                    tr {
                        th scope="row" { (row_name(run, dimension, name)) }
                        td title={ (exact(*bytes)) " bytes" } { (size(*bytes)) } td { (share(*bytes, live)) }
                        (cells(times.of(dimension, name)))
                        (bar(0, *bytes, most, &fill))
                    }
                }
            }
        }
    };
    let head = html! {
        thead { tr { th scope="col" { (dimension) } th scope="col" { "bytes" } th scope="col" { "share" } (heads(&times)) th.track scope="col" {} } }
    };
    let (first, rest) = parts.split_at(parts.len().min(MOST_ROWS));
    html! {
        table.numbers.bars.timed[times.any()] {
            caption { "By " (dimension) }
            (head)
            (rows(first, 0))
        }
        @if !rest.is_empty() {
            details {
                summary { (rest.len()) " more, " (size(rest.iter().map(|part| part.1).sum())) }
                table.numbers.bars.timed[times.any()] { (head) (rows(rest, MOST_ROWS)) }
            }
        }
    }
}

/// The `most` biggest owners of a snapshot, and the rest in one row.
pub(super) fn owners(run: &Run, snapshot: &Snapshot, most: usize) -> Markup {
    let owners = analysis::owners(snapshot, run.scopes());
    let times = TimeColumns::new(&run.timeline, Times::OfLayer);
    let live = snapshot.live_bytes;
    let widest = owners.first().map_or(1, |owner| owner.bytes);
    html! {
        table.numbers.bars.timed[times.any()] {
            thead {
                tr {
                    @for head in ["layer", "phase", "operator", "category"] { th.text scope="col" { (head) } }
                    th scope="col" { "blocks" } th scope="col" { "bytes" } th scope="col" {} th scope="col" { "share" }
                    (heads(&times)) th.track scope="col" {}
                }
            }
            tbody {
                @for owner in owners.iter().take(most) {
                    tr {
                        th scope="row" { (with_kind(run, name_or_dash(&owner.scope.layer), &owner.scope.layer)) }
                        td.text { (name_or_dash(&owner.scope.phase)) } td.text { (name_or_dash(&owner.scope.op)) } td.text { (owner.category) }
                        td { (exact(owner.blocks)) }
                        (bytes_cells(owner.bytes, live)) (cells(times.of_layer(&owner.scope.layer)))
                        (bar(0, owner.bytes, widest, &category_colour(owner.category.name()).to_string()))
                    }
                }
                @if owners.len() > most {
                    @let rest: u64 = owners[most..].iter().map(|owner| owner.bytes).sum();
                    tr.rest {
                        th scope="row" { "rest (" (owners.len() - most) " owners)" }
                        td.text {} td.text {} td.text {} td {} (bytes_cells(rest, live)) (cells(times.blank())) td.track {}
                    }
                }
            }
        }
    }
}

/// The figures from outside the tracker.
pub(super) fn lanes(run: &Run) -> Markup {
    let known = |bytes: Option<u64>| bytes.map_or("unavailable".to_owned(), size);
    html! {
        @if !run.timeline.lanes.is_empty() {
            table.numbers {
                caption { "Figures from outside the tracker" }
                thead { tr { th scope="col" { "lane" } th scope="col" { "highest" } th scope="col" { "at the peak" } th.text scope="col" { "source" } } }
                tbody {
                    @for lane in &run.timeline.lanes {
                        tr { th scope="row" { (lane.name) } td { (known(lane.peak_bytes)) } td { (known(lane.at_peak_bytes)) } td.text { (lane.source) } }
                    }
                }
            }
        }
    }
}

/// The steps. When there are many, only the first and the last ones are displayed.
pub(super) fn steps(run: &Run) -> Markup {
    let steps = &run.timeline.steps;
    let most = steps.iter().map(|step| step.live_bytes).max().unwrap_or(1);
    let row = |step: &Step| {
        let of_category = |category: Category| step.by_category.get(category.name()).copied().unwrap_or(0);
        let parts = Category::ALL.map(|category| (category.name(), of_category(category)));
        html! {
            tr {
                th scope="row" { (step.index) }
                td { (time(step.start_ns)) } td { (time(step.end_ns.saturating_sub(step.start_ns))) }
                td { (exact(step.live_bytes)) } td { (size(step.live_bytes)) } td { (time(step.peak_ns)) }
                td { (size(step.end_live_bytes)) }
                td.track aria-hidden="true" {
                    span.stack style={ "width:" (format!("{:.2}", step.live_bytes as f64 * 100.0 / most.max(1) as f64)) "%" } {
                        @for (name, bytes) in parts.iter().filter(|part| part.1 > 0) {
                            i title={ (name) ": " (size(*bytes)) } style={ "flex:" (bytes) ";background:" (category_colour(name)) } {}
                        }
                    }
                }
            }
        }
    };
    let hidden = steps.len().saturating_sub(2 * MOST_STEPS);
    html! {
        table.numbers.bars {
            thead {
                tr {
                    th scope="col" { "step" } th scope="col" { "began" } th scope="col" { "took" } th scope="col" { "peak bytes" }
                    th scope="col" {} th scope="col" { "peak at" } th scope="col" { "live at its end" } th.track scope="col" { "by category" }
                }
            }
            tbody {
                @if hidden == 0 { @for step in steps { (row(step)) } }
                @else {
                    @for step in &steps[..MOST_STEPS] { (row(step)) }
                    tr.rest { th scope="row" { "..." } td colspan="7" { (hidden) " steps between" } }
                    @for step in &steps[steps.len() - MOST_STEPS..] { (row(step)) }
                }
            }
        }
    }
}

/// Each phase's, layer's and operator's own peak.
pub(super) fn high_waters(run: &Run) -> Markup {
    let mut high_waters: Vec<_> = run.timeline.high_waters.iter().collect();
    high_waters.sort_by_key(|high| std::cmp::Reverse(high.live_bytes));
    let times_of = |dimension| TimeColumns::for_dimension(&run.timeline, dimension);
    let most = high_waters.first().map_or(1, |high| high.live_bytes);
    html! {
        div.columns {
            @for dimension in [Dimension::Phase, Dimension::Layer, Dimension::Op] {
                @let lines: Vec<_> = high_waters.iter().filter(|high| high.dimension == dimension).take(MOST_ROWS).collect();
                @if !lines.is_empty() {
                    @let times = times_of(dimension);
                    div {
                        table.numbers.bars.timed[times.any()] {
                            caption { "Highest of each " (dimension) }
                            thead { tr { th scope="col" { (dimension) } th scope="col" { "bytes" } th scope="col" { "at" } (heads(&times)) th.track scope="col" {} } }
                            tbody {
                                @for high in lines {
                                    tr {
                                        th scope="row" { (name_in(dimension, &high.name)) }
                                        td title={ (exact(high.live_bytes)) " bytes" } { (size(high.live_bytes)) } td { (time(high.time_ns)) }
                                        (cells(times.of(dimension, &high.name)))
                                        (bar(0, high.live_bytes, most, "var(--bar)"))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The memory that the tracker itself needed.
pub(super) fn tracker(run: &Run) -> Markup {
    let tracker = &run.timeline.tracker;
    let totals = &run.timeline.totals;
    html! {
        p {
            @match tracker.overhead_bytes {
                Some(bytes) => { (exact(bytes)) " bytes (" (size(bytes)) ") of memory, for " },
                None => { "Its memory is " (NO_END) ". It counted " }
            }
            (exact(totals.allocations)) " allocations, " (exact(totals.frees)) " frees and "
            (exact(totals.reallocations)) " reallocations of " (size(totals.allocated_bytes)) " in all."
        }
        @if !tracker.overhead.is_empty() {
            @let parts = { let mut parts: Vec<_> = tracker.overhead.iter().collect(); parts.sort_by_key(|part| std::cmp::Reverse(part.1)); parts };
            table.numbers {
                tbody { @for (name, bytes) in parts { tr { th scope="row" { (name) } (bytes_cells(*bytes, tracker.overhead_bytes.unwrap_or(0))) } } }
            }
        }
    }
}
