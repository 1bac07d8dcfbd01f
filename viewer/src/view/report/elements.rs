//! Small elements that several sections of the page have in common.
use maud::{Markup, html};

use crate::model::Run;
use crate::view::words::time_columns::TimeColumns;

/// The id of the section about the run with this index.
pub(super) fn run_anchor(index: usize) -> String {
    format!("run-{}", index + 1)
}

/// A table cell with a bar from `from` to `from + bytes`, on a scale that ends at `whole`.
pub(super) fn bar(from: u64, bytes: u64, whole: u64, fill: &str) -> Markup {
    let percent = |part: u64| part as f64 * 100.0 / whole.max(1) as f64;
    html! {
        td.track aria-hidden="true" {
            span style={ "margin-left:" (format!("{:.2}", percent(from))) "%;width:" (format!("{:.2}", percent(bytes))) "%;background:" (fill) } {}
        }
    }
}

/// A name, and below it what the layer is that it names, where that is known.
pub(super) fn with_kind(run: &Run, name: &str, layer: &str) -> Markup {
    html! { (name) @if let Some(kind) = run.timeline.layer_kinds.get(layer) { br; small { (kind) } } }
}

/// The heads of the columns of time and energy; nothing where there are none.
pub(super) fn heads(times: &TimeColumns) -> Markup {
    html! { @for head in times.heads() { th scope="col" { (head) } } }
}

/// Their cells in one row.
pub(super) fn cells(cells: Vec<String>) -> Markup {
    html! { @for cell in cells { td { (cell) } } }
}
