//! Sites of sampled stacks in words.
use alloc_timeline::{Call, Stacks};

use crate::analysis::{StackSite, growing_sites};
use crate::model::{Run, exact, shortened, size};
use crate::view::words::names::owner_name;
use crate::view::words::trend::trend_sentence;

/// Characters of a function's name.
const FUNCTION_WIDTH: usize = 48;
/// Number of calls in one line.
const MOST_CALLS: usize = 3;
/// The largest number of growing sites below a table of owners.
const MOST_GROWING: usize = 5;

/// The text in place of calls where none was found.
pub(in crate::view) const NO_CALL: &str = "(no call could be found)";

/// The text for a recording that did not reach the end, at which stacks are put together.
pub(in crate::view) const CUT_SHORT: &str =
    "Stacks are put together at the end of a recording, which this one did not reach: there are none\n";

/// The innermost calls of the program's own code, the innermost first. That call comes with its file and line.
pub(in crate::view) fn call_chain(site: &StackSite) -> String {
    let own: Vec<&Call> = site.calls.iter().rev().filter(|call| !is_standard_library(call)).collect();
    let shown: Vec<&Call> = if own.is_empty() { site.calls.iter().rev().collect() } else { own };
    let Some(first) = shown.first() else { return NO_CALL.to_owned() };
    let location = first.file.as_deref().map_or_else(String::new, |file| {
        let name = file.rsplit('/').next().unwrap_or(file);
        first.line.map_or_else(|| format!(" ({name})"), |line| format!(" ({name}:{line})"))
    });
    let mut chain = shortened(&first.function, FUNCTION_WIDTH) + &location;
    for call in shown.iter().skip(1).take(MOST_CALLS - 1) {
        chain.push_str(&format!(" < {}", shortened(&call.function, FUNCTION_WIDTH)));
    }
    chain
}

/// Whether a call is inside the standard library of Rust, C or C++, which occurs in nearly every stack.
fn is_standard_library(call: &Call) -> bool {
    let name = call.function.trim_start_matches(['<', '&']);
    let prefixes = ["std::", "core::", "alloc::", "__gnu_cxx::", "operator new", "__libc_start", "_start", "__rust_"];
    let source = call.file.as_deref().unwrap_or_default();
    let folders = ["/library/std/", "/library/core/", "/library/alloc/", "/include/c++/"];
    prefixes.iter().any(|prefix| name.starts_with(prefix)) || folders.iter().any(|folder| source.contains(folder))
}

/// One sentence for each kind of sample that is lost or incomplete.
pub(in crate::view) fn sampling_notes(stacks: &Stacks) -> Vec<String> {
    let samples = &stacks.samples;
    let mut notes = Vec::new();
    let mut note = |count: u64, sentence: String| {
        if count > 0 {
            notes.push(sentence);
        }
    };
    let of_all = |count: u64| format!("{} of {} samples", exact(count), exact(samples.taken));
    let lost = format!("{} samples that stood for {} were lost", exact(samples.lost), size(samples.lost_bytes));
    note(samples.lost, lost);
    note(samples.without_calls, format!("{}: no call could be found", of_all(samples.without_calls)));
    note(samples.cut, format!("{}: the outer calls could not be found, or were too many", of_all(samples.cut)));
    note(samples.not_followed, format!("{} could not be followed to their free", of_all(samples.not_followed)));
    note(samples.unnamed_calls, format!("{} calls are in files without symbols", exact(samples.unnamed_calls)));
    notes
}

/// One sentence for each of the fastest growing sites, to be put below a table of owners that grow.
pub(in crate::view) fn growing_stacks(run: &Run) -> Vec<String> {
    let sites = growing_sites(&run.timeline);
    let sentence = |site: &StackSite| {
        let trend = site.trend.as_ref()?;
        Some(format!("{}, in {}", trend_sentence(&owner_name(&site.scope), trend), call_chain(site)))
    };
    sites.iter().take(MOST_GROWING).filter_map(sentence).collect()
}
