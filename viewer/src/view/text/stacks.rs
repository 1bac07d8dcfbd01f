//! `viewer stacks`: who allocates, by call stack.
use alloc_timeline::Stacks;

use crate::analysis::{Measure, StackSite, measured_bytes, sites};
use crate::model::{Run, exact, share, shortened, size};
use crate::view::text::table::{Table, is_wide, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::{fitted, wrapped};
use crate::view::words::names::owner_name;
use crate::view::words::stacks::{CUT_SHORT, call_chain, sampling_notes};
use crate::view::words::time_columns::{TimeColumns, Times};
use crate::view::words::trend::{rate_words, trend_words};

/// Characters of an owner's name.
const NAME_WIDTH: usize = 32;

/// The text for a timeline without stacks.
const NO_STACKS: &str =
    "No stacks were recorded: run the program with ALLOC_TRACKER_STACKS=512KiB in its environment\n";

/// The sites with the most measured bytes, at most `most` of them.
pub fn stacks_text(run: &Run, measure: Measure, most: usize, terminal: Terminal) -> String {
    fitted(&text(run, measure, most, terminal.width), terminal.width)
}

fn text(run: &Run, measure: Measure, most: usize, width: usize) -> String {
    let mut out = format!("{}\n\n", run.title());
    let Some(stacks) = &run.timeline.stacks else { return out + NO_STACKS };
    if !stacks.complete {
        return out + CUT_SHORT;
    }
    out.push_str(&head(stacks, measure));
    let all = sites(&run.timeline, measure);
    if all.is_empty() {
        return out + "No sample is of that\n";
    }
    let times = TimeColumns::new(&run.timeline, Times::OfLayer);
    if measure == Measure::Growth {
        out.push_str(&growth_table(&all, &times, most, width).text(width));
        let more = all.len().saturating_sub(most);
        out.push_str(&if more > 0 { format!("{more} more (--top)\n") } else { String::new() });
    } else {
        let whole = measured_bytes(&stacks.sums(), measure);
        out.push_str(&site_table(&all, whole, measure, &times, most, width).text(width));
    }
    times.meaning().iter().for_each(|meaning| out.push_str(&wrapped(meaning, "", "  ", width)));
    for note in sampling_notes(stacks) {
        out.push_str(&format!("{note}\n"));
    }
    out
}

/// The title of the table.
fn head(stacks: &Stacks, measure: Measure) -> String {
    let what = match measure {
        Measure::Peak => "Who held the peak",
        Measure::Leaks => "Who allocated what was live at exit",
        Measure::Allocated => "Who allocated",
        Measure::Growth => "Whose bytes changed from step to step",
    };
    let (samples, mean, seed) = (exact(stacks.samples.taken), size(stacks.mean_bytes), stacks.seed);
    format!("{what}, by stack: estimates from {samples} samples, one in {mean} on the average (seed {seed})\n\n")
}

/// The head of the calls. In a narrow terminal they stand below their row.
const CALLS: &str = "allocated in < called by";

/// A table with the times of each site's layer, whose last column has calls.
fn table_with_calls(heads: &[&str], times: &TimeColumns, width: usize) -> Table {
    let heads: Vec<String> = times.behind(heads).into_iter().chain(is_wide(width).then(|| CALLS.to_owned())).collect();
    table(&heads)
}

/// Adds a row with the times of its site's layer and the site's calls.
fn add_site(
    table: &mut Table,
    cells: impl IntoIterator<Item = String>,
    site: &StackSite,
    times: &TimeColumns,
    width: usize,
) {
    let cells = cells.into_iter().chain(times.of_layer(&site.scope.layer));
    if is_wide(width) {
        table.add_row(cells.chain([call_chain(site)]));
    } else {
        table.add_row_with_note(cells, call_chain(site));
    }
}

/// The sites with their part of the `whole` measured bytes, and the rest in one row.
fn site_table(
    all: &[StackSite],
    whole: u64,
    measure: Measure,
    times: &TimeColumns,
    most: usize,
    width: usize,
) -> Table {
    let mut table = table_with_calls(&[">bytes", ">+-", ">share", "scope"], times, width);
    for site in all.iter().take(most) {
        let bytes = site.bytes(measure);
        let error = format!("{:.0} %", site.error(measure) * 100.0);
        add_site(&mut table, [size(bytes), error, share(bytes, whole), name(site, width)], site, times, width);
    }
    let shown: u64 = all.iter().take(most).map(|site| site.bytes(measure)).fold(0, u64::saturating_add);
    let rest = whole.saturating_sub(shown);
    let blank = String::new;
    if rest > 0 {
        let cells = [size(rest), blank(), share(rest, whole), "rest".to_owned()];
        table.add_row(cells.into_iter().chain(times.blank()));
    }
    table.add_row([size(whole), blank(), blank(), "= all sampled".to_owned()].into_iter().chain(times.blank()));
    table
}

/// The owner's name. Where calls stand below it, it has more room.
fn name(site: &StackSite, width: usize) -> String {
    let name = owner_name(&site.scope);
    if is_wide(width) { shortened(&name, NAME_WIDTH) } else { name }
}

/// The sites whose bytes changed from step to step.
fn growth_table(all: &[StackSite], times: &TimeColumns, most: usize, width: usize) -> Table {
    let mut table = table_with_calls(&["scope", ">held last", ">a step", "what it does"], times, width);
    for site in all.iter().take(most) {
        let trend = site.trend.as_ref();
        let cells = [
            name(site, width),
            size(site.bytes(Measure::Growth)),
            trend.map(rate_words).unwrap_or_default(),
            trend.map(trend_words).unwrap_or_default(),
        ];
        add_site(&mut table, cells, site, times, width);
    }
    table
}
