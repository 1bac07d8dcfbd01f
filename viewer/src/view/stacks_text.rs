//! `viewer stacks` for people, and its folded lines.
use std::collections::BTreeMap;

use alloc_timeline::{Call, NONE, Place, Stacks};

use crate::analysis::{Measure, StackSite, growing_sites, place_name, site_bytes, sites};
use crate::model::{Run, exact, share, shortened, size};
use crate::view::flame::frame;
use crate::view::table::{table, text};
use crate::view::trend_text::{rate, sentence, words};

/// Characters of a scope's name, and of a function's.
const SCOPE: usize = 32;
const FUNCTION: usize = 48;
/// Calls that a line shows.
const CALLS: usize = 3;
/// Sites that grow, below other tables.
const MOST_GROWING: usize = 5;

/// What is said where there are no stacks.
pub(crate) const NO_STACKS: &str =
    "No stacks were recorded: run the program with ALLOC_TRACKER_STACKS=512KiB in its environment\n";
pub(crate) const CUT_SHORT: &str =
    "Stacks are put together at the end of a recording, which this one did not reach: there are none\n";

/// The sites with the most of what is measured.
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
        rows(&all, site_bytes(&stacks.sums(), measure), measure, most)
    });
    for note in notes(stacks) {
        out.push_str(&format!("{note}\n"));
    }
    out
}

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

fn rows(all: &[StackSite], whole: u64, measure: Measure, most: usize) -> String {
    let mut table = table(&[">bytes", ">+-", ">share", "scope", "allocated in < called by"]);
    for site in all.iter().take(most) {
        let bytes = site.bytes(measure);
        let error = format!("{:.0} %", site.error(measure) * 100.0);
        table.add_row([size(bytes), error, share(bytes, whole), shortened(&scope(site), SCOPE), calls(site)]);
    }
    let shown: u64 = all.iter().take(most).map(|site| site.bytes(measure)).fold(0, u64::saturating_add);
    let rest = whole.saturating_sub(shown);
    let blank = String::new;
    if rest > 0 {
        table.add_row([size(rest), blank(), share(rest, whole), "rest".to_owned(), blank()]);
    }
    table.add_row([size(whole), blank(), blank(), "= all sampled".to_owned(), blank()]);
    text(&table)
}

fn growth_table(all: &[StackSite], most: usize) -> String {
    let mut table = table(&["scope", ">held last", ">a step", "what it does", "allocated in < called by"]);
    for site in all.iter().take(most) {
        let trend = site.trend.as_ref();
        table.add_row([
            shortened(&scope(site), SCOPE),
            size(site.bytes(Measure::Growth)),
            trend.map(rate).unwrap_or_default(),
            trend.map(words).unwrap_or_default(),
            calls(site),
        ]);
    }
    let more = all.len().saturating_sub(most);
    let note = if more > 0 { format!("{more} more (--top)\n") } else { String::new() };
    text(&table) + &note
}

/// What samples could not tell, a sentence each.
pub(crate) fn notes(stacks: &Stacks) -> Vec<String> {
    let samples = &stacks.samples;
    let mut notes = Vec::new();
    let mut note = |number: u64, what: String| {
        if number > 0 {
            notes.push(what);
        }
    };
    let of = |number: u64| format!("{} of {} samples", exact(number), exact(samples.taken));
    let lost = format!("{} samples that stood for {} were lost", exact(samples.lost), size(samples.lost_bytes));
    note(samples.lost, lost);
    note(samples.without_calls, format!("{}: no call could be found", of(samples.without_calls)));
    note(samples.cut, format!("{}: the outer calls could not be found, or were too many", of(samples.cut)));
    note(samples.not_followed, format!("{} could not be followed to their free", of(samples.not_followed)));
    note(samples.unnamed_calls, format!("{} calls are in files without symbols", exact(samples.unnamed_calls)));
    notes
}

/// The scope as one name: `conv1 in forward, aten::conv2d`.
pub(crate) fn scope(site: &StackSite) -> String {
    let named = |name: &str| if name == NONE { String::new() } else { name.to_owned() };
    let place = place_name(&Place { phase: named(&site.phase), layer: named(&site.layer) });
    match (place.as_str(), site.op.as_str()) {
        (_, NONE) => place,
        (NONE, op) => op.to_owned(),
        (place, op) => format!("{place}, {op}"),
    }
}

/// The innermost calls of the program's own, the innermost first, which has its line.
pub(crate) fn calls(site: &StackSite) -> String {
    let own: Vec<&Call> = site.calls.iter().rev().filter(|call| !is_standard(call)).collect();
    let shown: Vec<&Call> = if own.is_empty() { site.calls.iter().rev().collect() } else { own };
    let Some(first) = shown.first() else { return "(no call could be found)".to_owned() };
    let place = first.file.as_deref().map_or_else(String::new, |file| {
        let name = file.rsplit('/').next().unwrap_or(file);
        first.line.map_or_else(|| format!(" ({name})"), |line| format!(" ({name}:{line})"))
    });
    let mut line = shortened(&first.function, FUNCTION) + &place;
    for call in shown.iter().skip(1).take(CALLS - 1) {
        line.push_str(&format!(" < {}", shortened(&call.function, FUNCTION)));
    }
    line
}

/// Whether a call is inside the standard library of Rust, C or C++, which is on everybody's way.
fn is_standard(call: &Call) -> bool {
    let name = call.function.trim_start_matches(['<', '&']);
    let begins = ["std::", "core::", "alloc::", "__gnu_cxx::", "operator new", "__libc_start", "_start", "__rust_"];
    let source = call.file.as_deref().unwrap_or_default();
    let inside = ["/library/std/", "/library/core/", "/library/alloc/", "/include/c++/"];
    begins.iter().any(|begin| name.starts_with(begin)) || inside.iter().any(|folder| source.contains(folder))
}

/// Sites that grow, to be put below a table of owners that grow; empty when there are none.
pub(crate) fn growing_stacks(run: &Run) -> Vec<String> {
    let sites = growing_sites(&run.timeline);
    let told = |site: &StackSite| {
        let trend = site.trend.as_ref()?;
        Some(format!("{}, in {}", sentence(&scope(site), trend), calls(site)))
    };
    sites.iter().take(MOST_GROWING).filter_map(told).collect()
}

/// Folded stacks, one `frame;frame;frame bytes` a line, sorted, the scope on top in brackets; they sum to all sampled.
pub fn folded_stacks(run: &Run, measure: Measure) -> Vec<String> {
    let Some(stacks) = &run.timeline.stacks else { return Vec::new() };
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for site in sites(&run.timeline, measure) {
        let mut frames: Vec<String> = site.calls.iter().map(|call| frame(&call.function)).collect();
        if site.cut {
            frames.insert(0, "(cut)".to_owned());
        }
        if frames.is_empty() {
            frames.push("(no call could be found)".to_owned());
        }
        frames.push(frame(&format!("[{}]", scope(&site))));
        let sum = lines.entry(frames.join(";")).or_default();
        *sum = sum.saturating_add(site.bytes(measure));
    }
    let others = site_bytes(&stacks.others, measure);
    if others > 0 {
        lines.insert("(others)".to_owned(), others);
    }
    lines.into_iter().map(|(stack, bytes)| format!("{stack} {bytes}")).collect()
}
