//! What the tracker itself keeps resident, by name.
use std::collections::BTreeMap;

use super::resident::Pagemap;
use alloc_replay::{Counts, TRACKER};

use crate::event::ring;
use crate::ledger::{self, Slot, totals};
use crate::tag::{shadow, tiny};
use crate::{scope, stacks, sys};

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

/// Live bytes on the heap that belong to the tracker: names, the replay, the timeline as far as it is recorded.
pub fn heap() -> u64 {
    let mut counts = totals::of(TRACKER).read();
    let own = |(scope, counts): (u16, Counts)| (scope == TRACKER).then_some(counts);
    ledger::live_slots().flat_map(Slot::unpublished).filter_map(own).for_each(|part| counts += part);
    counts.live().max(0) as u64
}

/// All that the tracker keeps resident, in bytes by name.
pub fn overhead() -> BTreeMap<String, u64> {
    let mut parts = BTreeMap::from([("recorder_heap".to_owned(), heap())]);
    if let Some(pagemap) = Pagemap::open() {
        let mapped: u64 = sys::mappings().map(|(start, end)| pagemap.resident(start, end)).sum();
        let threads = (ledger::most_threads() * size_of::<Slot>()) as u64;
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
