//! The tables of sites and of threads: who allocated, by stack and by thread. Those that matter most reach the file, the
//! others are summed up.
use std::cmp::Reverse;

use alloc_timeline::{SampleCounts, SiteSums};

use crate::growth::GrowthTable;
use crate::scope::ScopeId;

/// Of each of the three orders (allocated, at the peak, live) so many sites reach the file.
const MOST_FILE_SITES: usize = 600;
/// The same for threads.
const MOST_FILE_THREADS: usize = 100;

/// What samples say of the stacks that allocated. Stacks are the numbers that their events had.
#[derive(Clone, Debug, Default)]
pub struct SiteTable {
    /// How many samples there were. Those that never became events (`lost`, `lost_bytes`) and the calls without a name
    /// are for the caller to fill in.
    pub counts: SampleCounts,
    /// The sites that matter most.
    pub sites: Vec<SiteRow>,
    /// All others together.
    pub others: SiteSums,
    /// What was live at the end of each step. A column's owner is an index into `sites`.
    pub growth: GrowthTable,
    /// The same samples, by the thread that took them.
    pub threads: ThreadTable,
}

/// A stack in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteRow {
    /// The stack's number; 0: its calls could not be found.
    pub stack: u32,
    /// The scope that was active.
    pub scope: ScopeId,
    /// The site's numbers.
    pub sums: SiteSums,
}

/// What samples say of the threads that allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTable {
    /// The threads that matter most.
    pub threads: Vec<ThreadRow>,
    /// All others together.
    pub others: SiteSums,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRow {
    /// Its number; 0: all threads that were just beginning or ending.
    pub number: u32,
    /// What it was called at its end; `None` when its end was not told.
    pub name: Option<String>,
    /// The thread's numbers.
    pub sums: SiteSums,
}

impl ThreadTable {
    /// Chooses among `all` threads; `later` are the sums of those that are not among them.
    pub fn choose(all: &[ThreadRow], later: SiteSums) -> ThreadTable {
        let chosen = largest(all.len(), MOST_FILE_THREADS, |thread| &all[thread].sums);
        let is_other = |thread: &usize| chosen.binary_search(thread).is_err();
        let others = (0..all.len()).filter(is_other).map(|thread| all[thread].sums).chain([later]).collect();
        ThreadTable { threads: chosen.iter().map(|&thread| all[thread].clone()).collect(), others }
    }
}

/// The indices of the rows that are among the first `most` by bytes allocated, at the peak, or live, in order.
fn largest<'a>(rows: usize, most: usize, sums: impl Fn(usize) -> &'a SiteSums) -> Vec<usize> {
    let orders: [fn(&SiteSums) -> u64; 3] =
        [|sums| sums.peak_bytes, |sums| sums.exit_bytes, |sums| sums.allocated_bytes];
    let mut chosen = Vec::new();
    for bytes in orders {
        let bytes = |row: usize| bytes(sums(row));
        let mut order: Vec<usize> = (0..rows).filter(|&row| bytes(row) > 0).collect();
        order.sort_by_key(|&row| (Reverse(bytes(row)), row));
        chosen.extend(order.into_iter().take(most));
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

impl SiteTable {
    /// Chooses among `all` sites; `growth` has their indices as owners.
    pub fn choose(all: &[SiteRow], mut growth: GrowthTable, counts: SampleCounts) -> SiteTable {
        let mut chosen = largest(all.len(), MOST_FILE_SITES, |site| &all[site].sums);
        chosen.extend(growth.columns.iter().map(|column| column.owner));
        chosen.sort_unstable();
        chosen.dedup();
        let index = |site: usize| chosen.binary_search(&site).ok();
        growth.columns.iter_mut().for_each(|column| column.owner = index(column.owner).unwrap_or(0));
        let others = (0..all.len()).filter(|&site| index(site).is_none()).map(|site| all[site].sums).collect();
        let sites = chosen.iter().map(|&site| all[site]).collect();
        SiteTable { counts, sites, others, growth, threads: ThreadTable::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2,000 sites of which each holds one byte more than the one before: those that reach the file and the others are all.
    #[test]
    fn the_largest_reach_the_file_and_the_others_are_summed_up() {
        let row = |stack| {
            let bytes = 10_000 + u64::from(stack);
            let sums = SiteSums { samples: 1, allocated_bytes: bytes, exit_bytes: bytes, ..SiteSums::default() };
            SiteRow { stack, scope: 3, sums }
        };
        let all: Vec<SiteRow> = (1..=2_000).map(row).collect();
        let table = SiteTable::choose(&all, GrowthTable::default(), SampleCounts::default());
        assert_eq!((table.sites.len(), table.sites[0].stack), (600, 1_401));
        let sum: SiteSums = table.sites.iter().map(|site| site.sums).chain([table.others]).collect();
        assert_eq!((sum.samples, sum.exit_bytes), (2_000, 10_000 * 2_000 + 2_000 * 2_001 / 2));
    }

    /// Of 400 threads each holds one byte more than the one before, and 7 more samples are of threads that came too late to be
    /// kept apart. 100 reach the file, and with the others they have all samples.
    #[test]
    fn the_largest_threads_reach_the_file() {
        let sums = |bytes| SiteSums { samples: 1, peak_bytes: bytes, ..SiteSums::default() };
        let all: Vec<ThreadRow> =
            (1..=400).map(|number| ThreadRow { number, name: None, sums: sums(number.into()) }).collect();
        let table = ThreadTable::choose(&all, SiteSums { samples: 7, ..SiteSums::default() });
        assert_eq!((table.threads.len(), table.threads[0].number), (100, 301));
        let whole: SiteSums = table.threads.iter().map(|thread| thread.sums).chain([table.others]).collect();
        assert_eq!((whole.samples, whole.peak_bytes), (407, 400 * 401 / 2));
    }
}
