//! Who allocates, by loaded object: the executable and each shared library.
//!
//! A block belongs to the object of the innermost call that is not in a language's runtime: what `operator new` or `strdup`
//! allocates, it allocates for its caller.
use std::collections::BTreeMap;

use alloc_timeline::{Call, SiteSums, Timeline};
use serde::Serialize;

use crate::analysis::stacks::{Measure, measured_bytes};

/// The name of all sites that are not told one by one.
pub const OTHER_SITES: &str = "(other sites)";
/// The name of samples without a call whose object is known.
pub const UNKNOWN_OBJECT: &str = "(no object known)";

/// Beginnings of the names of objects that allocate for their callers.
const RUNTIMES: [&str; 8] = [
    "libc.so",
    "ld-linux",
    "libstdc++.so",
    "libc++.so",
    "libc++abi.so",
    "libgcc_s.so",
    "libpthread.so",
    "liballoc_preload",
];

/// What one object allocated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectSums {
    /// Its file name.
    pub object: String,
    /// The sums of its sites.
    #[serde(flatten)]
    pub sums: SiteSums,
}

/// The objects with anything to measure, the most bytes first. They sum to all that was sampled. `None` when no call says in
/// which object it is, as in files of older recorders. Sums have no growth, so nothing is measured by that.
pub fn objects(timeline: &Timeline, measure: Measure) -> Option<Vec<ObjectSums>> {
    let stacks = timeline.stacks.as_ref()?;
    stacks.calls.iter().find(|call| call.object.is_some())?;
    let mut by_object: BTreeMap<&str, SiteSums> = BTreeMap::new();
    for site in &stacks.sites {
        let calls = site.calls.iter().filter_map(|&call| stacks.calls.get(call as usize));
        *by_object.entry(owner(calls)).or_default() += site.sums;
    }
    *by_object.entry(OTHER_SITES).or_default() += stacks.others;
    let sums = by_object.into_iter().map(|(object, sums)| ObjectSums { object: object.to_owned(), sums });
    let mut sums: Vec<ObjectSums> = sums.filter(|object| measured_bytes(&object.sums, measure) > 0).collect();
    sums.sort_by_key(|object| std::cmp::Reverse(measured_bytes(&object.sums, measure)));
    Some(sums)
}

/// The object that a stack belongs to; its calls begin with the outermost.
fn owner<'a>(calls: impl DoubleEndedIterator<Item = &'a Call> + Clone) -> &'a str {
    let objects = calls.rev().filter_map(|call| call.object.as_deref());
    let own = objects.clone().find(|object| !RUNTIMES.iter().any(|runtime| object.starts_with(runtime)));
    own.or_else(|| objects.clone().next()).unwrap_or(UNKNOWN_OBJECT)
}

#[cfg(test)]
mod tests {
    use alloc_timeline::{Site, Stacks};

    use super::*;

    fn sums(bytes: u64) -> SiteSums {
        SiteSums { samples: 1, peak_bytes: bytes, ..SiteSums::default() }
    }

    /// A library that calls `operator new`, the executable, a stack that is only in the C library, and one without calls.
    #[test]
    fn a_runtime_allocates_for_its_caller() {
        let call = |object: &str| Call { object: Some(object.to_owned()), ..Call::default() };
        let site = |calls: &[u32], bytes| Site { calls: calls.to_vec(), sums: sums(bytes), ..Site::default() };
        let stacks = Stacks {
            calls: vec![call("program"), call("libfoo.so"), call("libstdc++.so.6"), call("libc.so.6")],
            sites: vec![site(&[0, 1, 2], 400), site(&[0], 30), site(&[0, 3], 5), site(&[3], 7), site(&[], 2)],
            others: sums(1),
            ..Stacks::default()
        };
        let timeline = Timeline { stacks: Some(stacks), ..crate::model::fixture::tiny() };
        let found = objects(&timeline, Measure::Peak).expect("objects");
        let found: Vec<(&str, u64)> = found.iter().map(|sum| (sum.object.as_str(), sum.sums.peak_bytes)).collect();
        let expected = [("libfoo.so", 400), ("program", 35), ("libc.so.6", 7), (UNKNOWN_OBJECT, 2), (OTHER_SITES, 1)];
        assert_eq!(found, expected);
    }

    #[test]
    fn files_of_older_recorders_have_no_objects() {
        let stacks = Stacks { calls: vec![Call::default()], ..Stacks::default() };
        let timeline = Timeline { stacks: Some(stacks), ..crate::model::fixture::tiny() };
        assert_eq!(objects(&timeline, Measure::Peak), None);
    }
}
