//! `viewer leaks`: what was live at exit.
use crate::analysis::{Leak, Trend, leaks};
use crate::model::{Run, exact, size};
use crate::view::text::kind_column::KindColumn;
use crate::view::text::table::{Table, is_wide, owner_cells, rest_cells, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::{fitted, wrapped};
use crate::view::words::facts::NO_END;
use crate::view::words::names::owner_name;
use crate::view::words::time_columns::{TimeColumns, Times};
use crate::view::words::trend::{rate_words, trend_words};

/// The owners of what was live at exit, those that grew first. The table has at most `most` of them.
pub fn leaks_text(run: &Run, most: usize, terminal: Terminal) -> String {
    let Some(at_exit) = &run.timeline.at_exit else {
        return fitted(&format!("{}\n\nLive at exit: {NO_END}\n", run.title()), terminal.width);
    };
    let snapshot = &at_exit.snapshot;
    let leaks = leaks(&run.timeline);
    let blocks: u64 = leaks.iter().fold(0, |sum, leak| sum.saturating_add(leak.blocks));
    let head = format!(
        "{}\n\nLive at exit: {} bytes ({}) in {} blocks\n\n",
        run.title(),
        exact(snapshot.live_bytes),
        size(snapshot.live_bytes),
        exact(blocks)
    );
    let times = TimeColumns::new(&run.timeline, Times::OfLayer);
    let kinds = KindColumn::new(run);
    let table = if is_wide(terminal.width) { wide_table } else { narrow_table };
    let meaning = times.meaning().map_or_else(String::new, |meaning| wrapped(&meaning, "", "  ", terminal.width));
    fitted(&(head + &table(&leaks, kinds, &times, most).text(terminal.width) + &meaning), terminal.width)
}

/// The owner by layer, phase and operator, with requested bytes too.
fn wide_table(leaks: &[Leak], kinds: KindColumn<'_>, times: &TimeColumns, most: usize) -> Table {
    let heads = ["layer", "phase", "op", "category", ">blocks", ">requested", ">bytes", "from step to step"];
    let mut table = table(&times.behind(&kinds.behind(&heads)));
    for leak in leaks.iter().take(most) {
        let numbers = [leak.blocks, leak.requested_bytes, leak.usable_bytes].map(exact);
        let cells = owner_cells(&leak.scope, leak.category).into_iter().chain(numbers);
        let trend = leak.trend.map_or("-".to_owned(), trend_and_rate);
        table.add_row(cells.chain([trend]).chain(kinds.of(&leak.scope.layer)).chain(times.of_layer(&leak.scope.layer)));
    }
    if let Some(rest) = leaks.get(most..).filter(|rest| !rest.is_empty()) {
        let numbers = [sum(rest, |leak| leak.blocks), sum(rest, |leak| leak.requested_bytes)];
        let cells = rest_cells(rest.len()).into_iter().chain(numbers);
        table.add_row(
            cells
                .chain([sum(rest, |leak| leak.usable_bytes), "-".to_owned()])
                .chain(kinds.blank())
                .chain(times.blank()),
        );
    }
    table
}

/// The owner in one name; what its bytes do from step to step stands below it, unless they are steady.
fn narrow_table(leaks: &[Leak], kinds: KindColumn<'_>, times: &TimeColumns, most: usize) -> Table {
    let mut table = table(&times.behind(&kinds.behind(&["owner", "category", ">blocks", ">bytes"])));
    for leak in leaks.iter().take(most) {
        let numbers = [leak.blocks, leak.usable_bytes].map(exact);
        let cells = [owner_name(&leak.scope), leak.category.to_string()].into_iter().chain(numbers);
        let trend = leak.trend.filter(|trend| *trend != Trend::Steady);
        let cells = cells.chain(kinds.of(&leak.scope.layer)).chain(times.of_layer(&leak.scope.layer));
        table.add_row_with_note(cells, trend.map_or(String::new(), trend_and_rate));
    }
    if let Some(rest) = leaks.get(most..).filter(|rest| !rest.is_empty()) {
        let [name, dash, ..] = rest_cells(rest.len());
        let cells = [name, dash, sum(rest, |leak| leak.blocks), sum(rest, |leak| leak.usable_bytes)];
        table.add_row(cells.into_iter().chain(kinds.blank()).chain(times.blank()));
    }
    table
}

fn sum(leaks: &[Leak], number: fn(&Leak) -> u64) -> String {
    exact(leaks.iter().map(number).fold(0, u64::saturating_add))
}

/// What the bytes do from step to step, and how many a step where they grow.
fn trend_and_rate(trend: Trend) -> String {
    match rate_words(&trend) {
        rate if rate.is_empty() => trend_words(&trend),
        rate => format!("{}, {rate} a step", trend_words(&trend)),
    }
}
