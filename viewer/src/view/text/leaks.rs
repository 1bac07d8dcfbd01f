//! `viewer leaks`: what was live at exit.
use crate::analysis::{Leak, leaks};
use crate::model::{Run, exact, size};
use crate::view::text::table::{owner_cells, render, rest_cells, table};
use crate::view::words::trend::{rate_words, trend_words};

/// The owners of what was live at exit, those that grew first. The table has at most `most` of them.
pub fn leaks_text(run: &Run, most: usize) -> String {
    let snapshot = &run.timeline.at_exit.snapshot;
    let leaks = leaks(&run.timeline);
    let blocks: u64 = leaks.iter().fold(0, |sum, leak| sum.saturating_add(leak.blocks));
    let mut out = format!(
        "{}\n\nLive at exit: {} bytes ({}) in {} blocks\n\n",
        run.title(),
        exact(snapshot.live_bytes),
        size(snapshot.live_bytes),
        exact(blocks)
    );
    let mut table =
        table(&["layer", "phase", "op", "category", ">blocks", ">requested", ">bytes", "from step to step"]);
    for leak in leaks.iter().take(most) {
        let trend = leak.trend.map_or("-".to_owned(), |trend| match rate_words(&trend) {
            rate if rate.is_empty() => trend_words(&trend),
            rate => format!("{}, {rate} a step", trend_words(&trend)),
        });
        let numbers = [leak.blocks, leak.requested_bytes, leak.usable_bytes].map(exact);
        table.add_row(owner_cells(&leak.scope, leak.category).into_iter().chain(numbers).chain([trend]));
    }
    if leaks.len() > most {
        let rest = &leaks[most..];
        let sum = |number: fn(&Leak) -> u64| exact(rest.iter().map(number).fold(0, u64::saturating_add));
        let numbers = [sum(|leak| leak.blocks), sum(|leak| leak.requested_bytes), sum(|leak| leak.usable_bytes)];
        table.add_row(rest_cells(rest.len()).into_iter().chain(numbers).chain(["-".to_owned()]));
    }
    out.push_str(&render(&table));
    out
}
