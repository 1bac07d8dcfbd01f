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

/// The innermost calls of the program's own code, the innermost first. That call comes with its file and line. Where an interpreter
/// told of calls, those are the program's, each with its line, below the innermost call of a library that they called.
pub(in crate::view) fn call_chain(site: &StackSite) -> String {
    let is_own = |call: &&Call| !is_standard_library(call) && !is_of_interpreter(call, site);
    let own: Vec<&Call> = site.calls.iter().rev().filter(is_own).collect();
    let mut shown: Vec<&Call> = if own.is_empty() { site.calls.iter().rev().collect() } else { own };
    if shown.iter().any(|call| call.language.is_some()) {
        let is_inner = shown[0].language.is_none();
        let inner = is_inner.then(|| shown[0]).into_iter();
        shown = inner.chain(shown.into_iter().filter(|call| call.language.is_some())).collect();
    }
    if shown.is_empty() {
        return NO_CALL.to_owned();
    }
    let words = |(place, &call): (usize, &&Call)| {
        let name = shortened(&call.function, FUNCTION_WIDTH);
        if place == 0 || call.language.is_some() { name + &location(call) } else { name }
    };
    shown.iter().enumerate().take(MOST_CALLS).map(words).collect::<Vec<_>>().join(" < ")
}

/// A call's file and line in brackets, as far as they are known, behind a space.
pub(in crate::view) fn location(call: &Call) -> String {
    call.file.as_deref().map_or_else(String::new, |file| {
        let name = file.rsplit('/').next().unwrap_or(file);
        call.line.map_or_else(|| format!(" ({name})"), |line| format!(" ({name}:{line})"))
    })
}

/// Whether a call is the own one of an interpreter that told of calls of this stack.
fn is_of_interpreter(call: &Call, site: &StackSite) -> bool {
    let has_told = |told: &Call| told.language.is_some() && told.object == call.object;
    call.language.is_none() && call.object.is_some() && site.calls.iter().any(has_told)
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

#[cfg(test)]
mod tests {
    use alloc_timeline::SiteSums;

    use super::*;
    use crate::model::ScopeNames;

    fn site(calls: Vec<Call>) -> StackSite {
        let scope = ScopeNames::new(&[], 0);
        StackSite { scope, calls, cut: false, sums: SiteSums::default(), trend: None, live_bytes: Vec::new() }
    }

    fn native(function: &str, object: &str) -> Call {
        Call { function: function.into(), object: Some(object.into()), ..Call::default() }
    }

    fn python(function: &str, line: u32) -> Call {
        let (file, language) = (Some("/src/train.py".to_owned()), Some("Python".to_owned()));
        Call { file, line: Some(line), language, ..native(function, "libpython3.11.so.1.0") }
    }

    /// An interpreter's own calls say nothing of the program; those of a library that Python called do.
    #[test]
    fn python_calls_are_the_programs() {
        let main = native("Py_RunMain", "libpython3.11.so.1.0");
        let outer = [native("main", "python3.11"), main, python("<module>", 80), python("load", 60)];
        let resize = native("list_resize", "libpython3.11.so.1.0");
        let calls = |inner: &[Call]| outer.iter().chain(inner).cloned().collect();
        let chain = call_chain(&site(calls(&[python("collate", 42), resize.clone()])));
        assert_eq!(chain, "collate (train.py:42) < load (train.py:60) < <module> (train.py:80)");
        let inner = [native("THPVariable_ones", "libtorch_python.so"), native("at::ones", "libtorch_cpu.so")];
        assert_eq!(call_chain(&site(calls(&inner))), "at::ones < load (train.py:60) < <module> (train.py:80)");
        let alone = site(vec![native("PyList_New", "python3.11"), native("list_resize", "python3.11")]);
        assert_eq!(call_chain(&alone), "list_resize < PyList_New", "without calls that it told of");
    }
}
