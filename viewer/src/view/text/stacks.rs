//! `viewer stacks`: who allocates, by call stack.
use alloc_timeline::Stacks;

use crate::analysis::{Measure, StackSite, measured_bytes, sites};
use crate::model::{Run, exact, share, shortened, size};
use crate::view::text::kind_column::KindColumn;
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
    let columns = Columns { kinds: KindColumn::new(run), times: &times, width };
    if measure == Measure::Growth {
        out.push_str(&growth_table(&all, columns, most).text(width));
        let more = all.len().saturating_sub(most);
        out.push_str(&if more > 0 { format!("{more} more (--top)\n") } else { String::new() });
    } else {
        let whole = measured_bytes(&stacks.sums(), measure);
        out.push_str(&site_table(&all, whole, measure, columns, most).text(width));
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

/// The columns behind a table's own, in a terminal of this width: what the site's layer is, its times, and the calls.
#[derive(Clone, Copy)]
struct Columns<'a> {
    kinds: KindColumn<'a>,
    times: &'a TimeColumns,
    width: usize,
}

impl Columns<'_> {
    /// A table with these columns behind its own.
    fn table(self, heads: &[&str]) -> Table {
        let heads = self.times.behind(&self.kinds.behind(heads));
        table(&heads.into_iter().chain(is_wide(self.width).then(|| CALLS.to_owned())).collect::<Vec<_>>())
    }

    /// Adds a site's row.
    fn add(self, table: &mut Table, cells: impl IntoIterator<Item = String>, site: &StackSite) {
        let layer = &site.scope.layer;
        let cells = cells.into_iter().chain(self.kinds.of(layer)).chain(self.times.of_layer(layer));
        if is_wide(self.width) {
            table.add_row(cells.chain([call_chain(site)]));
        } else {
            table.add_row_with_note(cells, call_chain(site));
        }
    }

    /// The cells of a row that sums up others.
    fn blank(self) -> impl Iterator<Item = String> {
        self.kinds.blank().into_iter().chain(self.times.blank())
    }
}

/// The sites with their part of the `whole` measured bytes, and the rest in one row.
fn site_table(all: &[StackSite], whole: u64, measure: Measure, columns: Columns<'_>, most: usize) -> Table {
    let mut table = columns.table(&[">bytes", ">+-", ">share", "scope"]);
    for site in all.iter().take(most) {
        let bytes = site.bytes(measure);
        let error = format!("{:.0} %", site.error(measure) * 100.0);
        let cells = [size(bytes), error, share(bytes, whole), name(site, columns.width)];
        columns.add(&mut table, cells, site);
    }
    let shown: u64 = all.iter().take(most).map(|site| site.bytes(measure)).fold(0, u64::saturating_add);
    let rest = whole.saturating_sub(shown);
    let blank = String::new;
    if rest > 0 {
        let cells = [size(rest), blank(), share(rest, whole), "rest".to_owned()];
        table.add_row(cells.into_iter().chain(columns.blank()));
    }
    table.add_row([size(whole), blank(), blank(), "= all sampled".to_owned()].into_iter().chain(columns.blank()));
    table
}

/// The owner's name. Where calls stand below it, it has more room.
fn name(site: &StackSite, width: usize) -> String {
    let name = owner_name(&site.scope);
    if is_wide(width) { shortened(&name, NAME_WIDTH) } else { name }
}

/// The sites whose bytes changed from step to step.
fn growth_table(all: &[StackSite], columns: Columns<'_>, most: usize) -> Table {
    let mut table = columns.table(&["scope", ">held last", ">a step", "what it does"]);
    for site in all.iter().take(most) {
        let trend = site.trend.as_ref();
        let cells = [
            name(site, columns.width),
            size(site.bytes(Measure::Growth)),
            trend.map(rate_words).unwrap_or_default(),
            trend.map(trend_words).unwrap_or_default(),
        ];
        columns.add(&mut table, cells, site);
    }
    table
}
