//! Who allocates, by thread.
use alloc_timeline::{SampledThread, SiteSums, Timeline};
use serde::Serialize;

use crate::analysis::stacks::{Measure, measured_bytes};

/// What one thread allocated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadSums {
    /// Its number; 0: all threads that were just beginning or ending. `None`: all threads that are not told one by one.
    pub number: Option<u32>,
    /// Its name. `None` when it had ended before anybody asked.
    pub name: Option<String>,
    /// The sums of its samples.
    #[serde(flatten)]
    pub sums: SiteSums,
}

/// The threads with anything to measure, the most bytes first. They sum to all that was sampled. `None` when samples do not say
/// which thread took them, as in files of older recorders. Sums have no growth, so nothing is measured by that.
pub fn threads(timeline: &Timeline, measure: Measure) -> Option<Vec<ThreadSums>> {
    let stacks = timeline.stacks.as_ref().filter(|stacks| !stacks.threads.is_empty())?;
    let told = |thread: &SampledThread| ThreadSums {
        number: Some(thread.number),
        name: thread.name.clone(),
        sums: thread.sums,
    };
    let others = ThreadSums { number: None, name: None, sums: stacks.other_threads };
    let all = stacks.threads.iter().map(told).chain([others]);
    let mut all: Vec<ThreadSums> = all.filter(|thread| measured_bytes(&thread.sums, measure) > 0).collect();
    all.sort_by_key(|thread| std::cmp::Reverse(measured_bytes(&thread.sums, measure)));
    Some(all)
}

#[cfg(test)]
mod tests {
    use alloc_timeline::Stacks;

    use super::*;

    fn sums(bytes: u64) -> SiteSums {
        SiteSums { samples: 1, peak_bytes: bytes, ..SiteSums::default() }
    }

    fn with(threads: Vec<SampledThread>, other_threads: SiteSums) -> Timeline {
        let stacks = Stacks { threads, other_threads, ..Stacks::default() };
        Timeline { stacks: Some(stacks), ..crate::model::fixture::tiny() }
    }

    #[test]
    fn the_most_bytes_come_first_and_nothing_is_left_out() {
        let thread = |number, name: Option<&str>, bytes| SampledThread {
            number,
            name: name.map(str::to_owned),
            sums: sums(bytes),
        };
        let timeline =
            with(vec![thread(1, Some("main"), 5), thread(2, None, 400), thread(3, Some("idle"), 0)], sums(30));
        let found = threads(&timeline, Measure::Peak).expect("threads");
        let found: Vec<_> = found.iter().map(|row| (row.number, row.name.as_deref(), row.sums.peak_bytes)).collect();
        assert_eq!(found, [(Some(2), None, 400), (None, None, 30), (Some(1), Some("main"), 5)]);
    }

    #[test]
    fn files_of_older_recorders_have_no_threads() {
        assert_eq!(threads(&with(Vec::new(), SiteSums::default()), Measure::Peak), None);
    }
}
