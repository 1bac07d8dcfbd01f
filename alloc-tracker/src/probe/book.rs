//! The book: the resident set as a sum, from what the program asked for down to what nobody explains.
//!
//! Every resident page of `/proc/self/smaps` lies in a mapping of one kind: a mapped file, a stack, the tracker's, the
//! zero-initialised data of a file, a mapping of the allocator, or something else. The allocator's mappings are those in
//! which a tag shows a live block. What is resident in them and in no live block is the allocator's own: free pages,
//! the rest of half-filled pages, its tables. What lies in mappings of no known kind is named `unexplained`.
//!
//! The pages are counted while the program runs on. A book whose live bytes moved by more than 1 part in
//! [`STEADY`] meanwhile says so, and is replaced by a steadier one.
use std::sync::atomic::Ordering;

use alloc_timeline::{Book, BookLine};

use super::cost;
use super::resident::Pagemap;
use super::smaps::{self, Mapping};
use super::status::page_bytes;
use crate::ledger::pool;
use crate::sys;
use crate::tag::shadow;

/// See the module's description.
pub const STEADY: u64 = 256;
/// Untouched pages are looked for in blocks of at least this many bytes.
const LARGE_BLOCK: usize = 64 * 1024;

/// Resident bytes by kind of mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kinds {
    files: u64,
    stacks: u64,
    tracker: u64,
    /// Anonymous memory directly behind a file's mapping: its zero-initialised data.
    data: u64,
    heap: u64,
    unknown: u64,
}

/// Takes the book; `live` gives live and requested bytes of the moment. Tells as well whether the live bytes kept
/// still meanwhile.
pub fn take(time_ns: u64, live: impl Fn() -> (u64, u64)) -> Option<(Book, bool)> {
    let (before, _) = live();
    let mappings = smaps::read()?;
    let pagemap = Pagemap::open()?;
    let stacks: Vec<usize> = pool::live_slots().map(|slot| slot.stack_address.load(Ordering::Relaxed)).collect();
    let tracker: Vec<(usize, usize)> = sys::mappings().collect();
    let (live, requested) = live();
    let mut untouched = 0;
    let kinds = classify(&mappings, &stacks, &tracker, |mapping| {
        let census = census(mapping, &pagemap);
        untouched += census.map_or(0, |untouched| untouched);
        census.is_some()
    });
    let tables = cost::tables_resident(&pagemap);
    let tracker_heap = cost::heap();
    let signed = |bytes: u64| bytes as i64;
    let touched = signed(live) - signed(untouched);
    let lines = [
        ("requested by the program", signed(requested)),
        ("rounding to size classes", signed(live) - signed(requested)),
        ("untouched pages of live blocks", -signed(untouched)),
        ("allocator: free pages and tables", signed(kinds.heap) - touched - signed(tracker_heap)),
        ("tracker", signed(kinds.tracker + tables + tracker_heap)),
        ("libraries and mapped files", signed(kinds.files)),
        ("zero-initialised data", signed(kinds.data) - signed(tables)),
        ("stacks", signed(kinds.stacks)),
        ("unexplained", signed(kinds.unknown)),
    ];
    let lines: Vec<BookLine> =
        lines.into_iter().map(|(name, bytes)| BookLine { name: name.to_owned(), bytes }).collect();
    let rss_bytes = mappings.iter().map(|mapping| mapping.rss).sum();
    let steady = live.abs_diff(before) <= live / STEADY;
    Some((Book { time_ns, live_bytes: live, rss_bytes, lines }, steady))
}

/// Looks for tags in `mapping`: `None` when there is none, else the bytes of large blocks in it that nobody touched.
fn census(mapping: &Mapping, pagemap: &Pagemap) -> Option<u64> {
    let entries_per_page = page_bytes() as usize / size_of::<u16>();
    let mut seen = false;
    let mut untouched = 0;
    for (address, entries) in shadow::entries(mapping.start, mapping.end) {
        let mut index = 0;
        while index < entries.len() {
            // Entries that nobody has written lie in pages that are not there: do not make them resident by looking.
            let piece = entries_per_page - (entries[index..].as_ptr().addr() / size_of::<u16>()) % entries_per_page;
            let piece = &entries[index..entries.len().min(index + piece)];
            let range = piece.as_ptr_range();
            if pagemap.resident(range.start.addr(), range.end.addr()) > 0 {
                for offset in 0..piece.len() {
                    if piece[offset].load(Ordering::Relaxed) == 0 {
                        continue;
                    }
                    seen = true;
                    if let Some(bytes) = shadow::large(&entries[index + offset..])
                        && bytes >= LARGE_BLOCK
                    {
                        let start = address + (index + offset) * 16;
                        let end = (start + bytes).min(mapping.end);
                        untouched += ((end - start) as u64).saturating_sub(pagemap.resident(start, end));
                    }
                }
            }
            index += piece.len();
        }
    }
    seen.then_some(untouched)
}

fn classify(
    mappings: &[Mapping],
    stacks: &[usize],
    tracker: &[(usize, usize)],
    mut holds_blocks: impl FnMut(&Mapping) -> bool,
) -> Kinds {
    let mut kinds = Kinds::default();
    let mut file_end = 0;
    for mapping in mappings {
        let holds = |address: &usize| (mapping.start..mapping.end).contains(address);
        let kind = if mapping.name.starts_with('/') {
            file_end = mapping.end;
            &mut kinds.files
        } else if mapping.name.starts_with("[stack") || stacks.iter().any(holds) {
            &mut kinds.stacks
        } else if tracker.iter().any(|&(start, end)| start < mapping.end && mapping.start < end) {
            &mut kinds.tracker
        } else if mapping.start == file_end && mapping.name.is_empty() {
            &mut kinds.data
        } else if holds_blocks(mapping) {
            &mut kinds.heap
        } else {
            &mut kinds.unknown
        };
        *kind += mapping.rss;
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mapping_has_one_kind() {
        let mapping = |start, end, name: &str, rss| Mapping { start, end, name: name.to_owned(), rss };
        let mappings = [
            mapping(0x1000, 0x2000, "/bin/a", 1),
            mapping(0x2000, 0x3000, "", 10),
            mapping(0x5000, 0x6000, "", 100),
            mapping(0x7000, 0x8000, "", 1_000),
            mapping(0x9000, 0xa000, "", 10_000),
            mapping(0xa000, 0xa800, "", 1_000_000),
            mapping(0xb000, 0xc000, "[stack]", 100_000),
        ];
        let kinds = classify(&mappings, &[0x7abc], &[(0x5000, 0x5800)], |mapping| mapping.start == 0x9000);
        let expected = Kinds { files: 1, data: 10, tracker: 100, stacks: 101_000, heap: 10_000, unknown: 1_000_000 };
        assert_eq!(kinds, expected);
    }
}
