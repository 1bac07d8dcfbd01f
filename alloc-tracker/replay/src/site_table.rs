//! The table of sites: who allocated, by stack. The sites that matter most reach the file, the others are summed up.
use std::cmp::Reverse;

use alloc_timeline::{SampleCounts, SiteSums};

use crate::growth::GrowthTable;
use crate::scope::ScopeId;

/// Of each of the three orders (allocated, at the peak, live) so many sites reach the file.
const MOST_FILE_SITES: usize = 600;

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

impl SiteTable {
    /// Chooses among `all` sites; `growth` has their indices as owners.
    pub fn choose(all: &[SiteRow], mut growth: GrowthTable, counts: SampleCounts) -> SiteTable {
        let mut chosen: Vec<usize> = growth.columns.iter().map(|column| column.owner).collect();
        let orders: [fn(&SiteSums) -> u64; 3] =
            [|sums| sums.peak_bytes, |sums| sums.exit_bytes, |sums| sums.allocated_bytes];
        for bytes in orders {
            let bytes = |site: usize| bytes(&all[site].sums);
            let mut order: Vec<usize> = (0..all.len()).filter(|&site| bytes(site) > 0).collect();
            order.sort_by_key(|&site| (Reverse(bytes(site)), site));
            chosen.extend(order.into_iter().take(MOST_FILE_SITES));
        }
        chosen.sort_unstable();
        chosen.dedup();
        let index = |site: usize| chosen.binary_search(&site).ok();
        growth.columns.iter_mut().for_each(|column| column.owner = index(column.owner).unwrap_or(0));
        let others = (0..all.len()).filter(|&site| index(site).is_none()).map(|site| all[site].sums).collect();
        SiteTable { counts, sites: chosen.iter().map(|&site| all[site]).collect(), others, growth }
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
}
