//! What the tracker itself keeps resident, line by line.
use std::collections::BTreeMap;

use super::resident::Pagemap;
use crate::event::ring;
use crate::ledger::totals::{self, Counts};
use crate::ledger::{pool, slot};
use crate::stacks;
use crate::sys;
use crate::tag::{scope, shadow, tiny};

/// The tables in the executable's own data, as address ranges.
fn tables() -> Vec<(usize, usize)> {
    let mut ranges = vec![ring::range(), totals::range()];
    ranges.extend(shadow::ranges());
    ranges.extend(tiny::ranges());
    ranges.extend(scope::ranges());
    ranges
}

/// Resident bytes of the tables in the executable's own data.
pub fn tables_resident(pagemap: &Pagemap) -> u64 {
    tables().into_iter().map(|(start, end)| pagemap.resident(start, end)).sum()
}

/// Live bytes on the heap that belong to the tracker: names, the replay, the timeline in the making.
pub fn heap() -> u64 {
    let mut counts = totals::of(scope::TRACKER).read();
    let own = |(scope, counts): (u16, Counts)| (scope == scope::TRACKER).then_some(counts);
    pool::live_slots().flat_map(|slot| slot.unpublished()).filter_map(own).for_each(|part| counts.add(&part));
    counts.live().max(0) as u64
}

/// All of it by name, in bytes.
pub fn overhead() -> BTreeMap<String, u64> {
    let mut parts = BTreeMap::from([("recorder_heap".to_owned(), heap())]);
    if let Some(pagemap) = Pagemap::open() {
        let mapped: u64 = sys::mappings().map(|(start, end)| pagemap.resident(start, end)).sum();
        let threads = (pool::most_threads() * size_of::<slot::Slot>()) as u64;
        let stacks: u64 = stacks::ranges().into_iter().map(|(start, end)| pagemap.resident(start, end)).sum();
        parts.insert("threads".to_owned(), threads.min(mapped));
        parts.insert("shadow_map".to_owned(), mapped.saturating_sub(threads + stacks));
        if stacks > 0 {
            parts.insert("stacks".to_owned(), stacks);
        }
        parts.insert("tables".to_owned(), tables_resident(&pagemap));
    }
    parts
}
