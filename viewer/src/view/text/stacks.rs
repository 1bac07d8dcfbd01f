//! `viewer stacks`: who allocates, by call stack.
use alloc_timeline::Stacks;

use crate::analysis::{Measure, StackSite, measured_bytes, sites};
use crate::model::{Run, exact, share, shortened, size};
use crate::view::text::table::{render, table};
use crate::view::words::names::owner_name;
use crate::view::words::stacks::{CUT_SHORT, call_chain, sampling_notes};
use crate::view::words::trend::{rate_words, trend_words};

/// Characters of an owner's name.
const NAME_WIDTH: usize = 32;

/// The text for a timeline without stacks.
const NO_STACKS: &str =
    "No stacks were recorded: run the program with ALLOC_TRACKER_STACKS=512KiB in its environment\n";

/// The sites with the most measured bytes, at most `most` of them.
pub fn stacks_text(run: &Run, measure: Measure, most: usize) -> String {
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
    out.push_str(&if measure == Measure::Growth {
        growth_table(&all, most)
    } else {
        site_table(&all, measured_bytes(&stacks.sums(), measure), measure, most)
    });
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

/// The sites with their part of the `whole` measured bytes, and the rest in one row.
fn site_table(all: &[StackSite], whole: u64, measure: Measure, most: usize) -> String {
    let mut table = table(&[">bytes", ">+-", ">share", "scope", "allocated in < called by"]);
    for site in all.iter().take(most) {
        let bytes = site.bytes(measure);
        let error = format!("{:.0} %", site.error(measure) * 100.0);
        table.add_row([size(bytes), error, share(bytes, whole), name(site), call_chain(site)]);
    }
    let shown: u64 = all.iter().take(most).map(|site| site.bytes(measure)).fold(0, u64::saturating_add);
    let rest = whole.saturating_sub(shown);
    let blank = String::new;
    if rest > 0 {
        table.add_row([size(rest), blank(), share(rest, whole), "rest".to_owned(), blank()]);
    }
    table.add_row([size(whole), blank(), blank(), "= all sampled".to_owned(), blank()]);
    render(&table)
}

fn name(site: &StackSite) -> String {
    shortened(&owner_name(&site.scope), NAME_WIDTH)
}

/// The sites whose bytes changed from step to step.
fn growth_table(all: &[StackSite], most: usize) -> String {
    let mut table = table(&["scope", ">held last", ">a step", "what it does", "allocated in < called by"]);
    for site in all.iter().take(most) {
        let trend = site.trend.as_ref();
        table.add_row([
            name(site),
            size(site.bytes(Measure::Growth)),
            trend.map(rate_words).unwrap_or_default(),
            trend.map(trend_words).unwrap_or_default(),
            call_chain(site),
        ]);
    }
    let more = all.len().saturating_sub(most);
    let note = if more > 0 { format!("{more} more (--top)\n") } else { String::new() };
    render(&table) + &note
}
