//! The section about what of the peak nobody read again.
use maud::{Markup, html};

use crate::analysis::{UnreadStorages, unread};
use crate::model::{Run, exact, size, time};
use crate::view::report::elements::{bar, cells, heads, with_kind};
use crate::view::words::names::owner_name;
use crate::view::words::time_columns::{TimeColumns, Times};
use crate::view::words::unread::{NOT_TOLD, unread_sentences};

/// Rows of the table.
const MOST_ROWS: usize = 15;

/// The sentences and the storages, the largest first of those that were freed and then of those that were held.
pub(super) fn section(run: &Run) -> Markup {
    let storages = unread(&run.timeline);
    html! {
        h3 { "What of the peak was read again" }
        @match &run.timeline.unread {
            None => p { (NOT_TOLD.trim_end()) "." },
            Some(recorded) => {
                ul.verdicts { @for sentence in unread_sentences(recorded, &storages) { li { (sentence) } } }
                @if !storages.is_empty() { div.wide { (table(run, &storages)) } }
            }
        }
    }
}

fn table(run: &Run, storages: &[UnreadStorages]) -> Markup {
    let times = TimeColumns::new(&run.timeline, Times::OfLayer);
    let most = storages.iter().map(|one| one.sums.usable_bytes).max().unwrap_or(1);
    let or_dash = |ns: Option<u64>| ns.map_or("-".to_owned(), time);
    let rest = storages.get(MOST_ROWS..).unwrap_or_default();
    html! {
        table.numbers.bars.timed[times.any()] {
            caption { "Storages that nobody read again" }
            thead {
                tr {
                    th scope="col" { "made by" } th.text scope="col" { "category" } th scope="col" { "blocks" } th scope="col" { "bytes" }
                    th.text scope="col" { "last read by" } th scope="col" { "at" } th scope="col" { "held for" }
                    th.text scope="col" { "freed in" } (heads(&times)) th.track scope="col" {}
                }
            }
            tbody {
                @for one in storages.iter().take(MOST_ROWS) {
                    tr {
                        th scope="row" {
                            @if let Some(maker) = &one.made_in { (with_kind(run, &owner_name(maker), &maker.layer)) } @else { "others" }
                        }
                        td.text { (one.category) }
                        td { (exact(one.sums.blocks)) }
                        td title={ (exact(one.sums.usable_bytes)) " bytes" } { (size(one.sums.usable_bytes)) }
                        td.text { (one.read_in.as_ref().map_or("nobody".to_owned(), owner_name)) }
                        td { (or_dash(one.read_ns)) } td { (or_dash(one.held_ns)) }
                        td.text { @if one.freed { (one.freed_in.as_ref().map_or("not known".to_owned(), owner_name)) } @else { "held to the end" } }
                        (cells(times.of_maker(one)))
                        (bar(0, one.sums.usable_bytes, most, "var(--bar)"))
                    }
                }
                @if !rest.is_empty() {
                    @let sum = |number: fn(&UnreadStorages) -> u64| rest.iter().map(number).fold(0, u64::saturating_add);
                    tr.rest {
                        th scope="row" { "rest (" (rest.len()) " rows)" } td.text {} td { (exact(sum(|one| one.sums.blocks))) }
                        td { (size(sum(|one| one.sums.usable_bytes))) } td.text {} td {} td {} td.text {} (cells(times.blank())) td.track {}
                    }
                }
            }
        }
    }
}
