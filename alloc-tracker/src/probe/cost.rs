//! What the tracker itself keeps resident, by name.
use std::collections::BTreeMap;

use super::counted::Counted;
use super::resident::Pagemap;
use super::smaps::Range;
use super::spent::{Probe, Stopwatch};
use crate::event::ring;
use crate::ledger::{self, Slot, stopwatch, totals};
use crate::sys::page_bytes;
use crate::tag::{shadow, tiny};
use crate::{devices, scope, stacks, sys};

/// The tables in the executable's own data, as address ranges.
fn tables() -> Vec<(usize, usize)> {
    let mut ranges = vec![ring::range(), totals::range(), stopwatch::range(), devices::range()];
    ranges.extend(shadow::ranges());
    ranges.extend(tiny::ranges());
    ranges.extend(scope::ranges());
    ranges
}

/// The addresses of all that the tracker has mapped, and of its tables: whole pages, in order, without overlaps.
pub fn ranges() -> Vec<Range> {
    in_order(sys::mappings().chain(tables()))
}

fn in_order(ranges: impl Iterator<Item = (usize, usize)>) -> Vec<Range> {
    let page = page_bytes();
    let mut ranges: Vec<Range> = ranges
        .map(|(start, end)| start / page * page..end.next_multiple_of(page))
        .filter(|range| !range.is_empty())
        .collect();
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, before| {
        let touches = next.start <= before.end;
        if touches {
            before.end = before.end.max(next.end);
        }
        touches
    });
    ranges
}

/// All that the tracker keeps resident now, in bytes by name.
pub fn overhead_now() -> BTreeMap<String, u64> {
    let mut watch = Stopwatch::start();
    let overhead = overhead(Counted::now().tracker, &Pagemap::open());
    watch.lap(Probe::Closing);
    overhead
}

/// All that the tracker keeps resident, in bytes by name. `heap` is its live bytes on the heap.
pub fn overhead(heap: u64, pagemap: &Pagemap) -> BTreeMap<String, u64> {
    let resident =
        |ranges: Vec<Range>| -> u64 { ranges.iter().map(|range| pagemap.resident(range.start, range.end)).sum() };
    let mapped = resident(in_order(sys::mappings()));
    let threads = (ledger::most_threads() * size_of::<Slot>()) as u64;
    let stacks = resident(in_order(stacks::ranges().into_iter()));
    let mut parts = BTreeMap::from([
        ("recorder_heap".to_owned(), heap),
        ("threads".to_owned(), threads.min(mapped)),
        ("shadow_map".to_owned(), mapped.saturating_sub(threads + stacks)),
        // Two tables can share a page, so that the sum over each table would count it twice.
        ("tables".to_owned(), resident(in_order(tables().into_iter()))),
    ]);
    if stacks > 0 {
        parts.insert("stacks".to_owned(), stacks);
    }
    parts
}
