//! Tensors in memory that processes share, as a framework tells of them: mappings, each known by its address until it is unmapped.
//!
//! ```text
//! worker   mapped ----------> handed over ..... unmapped      its own bytes until it hands them over
//! parent                        mapped -------------> unmapped      its own from then on
//! ```
//!
//! They go the way of a device's blocks: each is an event with its owner and its category, and none is in the live bytes, which are the
//! allocator's. In the book their pages have a line by name while they are mapped, handed over or not.
//!
//! A table of a fixed size without locks, because whoever unmaps memory may hold any lock of the program's.
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use alloc_timeline::{Category, SHARED_MEMORY};

use crate::devices::{self, DeviceTotals};
use crate::sys::page_bytes;
use crate::{ledger, named_memory, scope};

/// So many mappings have room. A loader keeps a few batches for each worker.
const MOST: usize = 1024;
/// Stands in the place of an address while an entry is written. 0: the entry is free.
const BUSY: usize = 1;
/// The line of the book.
const LINE: &str = "tensors in shared memory";

struct Entry {
    start: AtomicUsize,
    /// The bytes that this process counts as its own; 0: it has handed them over.
    own: AtomicU64,
}

static ENTRIES: [Entry; MOST] = [const { Entry { start: AtomicUsize::new(0), own: AtomicU64::new(0) } }; MOST];
/// How many entries are taken.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
/// Entries from here on were never used.
static USED: AtomicUsize = AtomicUsize::new(0);
/// The bytes that this process counts as its own.
static OWN: AtomicU64 = AtomicU64::new(0);

/// The addresses of the table.
pub fn range() -> (usize, usize) {
    let start = ENTRIES.as_ptr().addr();
    (start, start + size_of_val(&ENTRIES))
}

/// A tensor's storage of `bytes` bytes is mapped at `address`, for processes to share; does nothing when that is known. The scope that
/// is active on this thread owns it. When the table is full, it stays a mapping without a name.
pub fn tensor_mapped(address: usize, bytes: u64, category: Option<Category>) {
    if address <= BUSY || bytes == 0 || find(address).is_some() {
        return;
    }
    let Some(device) = devices::device(SHARED_MEMORY) else { return };
    let take = |entry: &Entry| entry.start.compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok();
    let Some(place) = ENTRIES.iter().position(take) else { return };
    USED.fetch_max(place + 1, Ordering::Relaxed);
    TAKEN.fetch_add(1, Ordering::Relaxed);
    let entry = &ENTRIES[place];
    entry.own.store(bytes, Ordering::Relaxed);
    entry.start.store(address, Ordering::Release);
    let line = ledger::as_tracker(|| scope::name(LINE));
    // A storage may begin behind a few bytes of the framework's.
    let first = page_of(address);
    named_memory::mapped(line, first, (address - first + bytes as usize).next_multiple_of(page_bytes()));
    let own = OWN.fetch_add(bytes, Ordering::Relaxed) + bytes;
    devices::allocated(device, address as u64, bytes, totals(own), category);
}

/// The storage that is mapped at `address` is another process's from now on, which maps it as well.
pub fn tensor_handed_over(address: usize) {
    if let Some(entry) = find(address) {
        give_up(entry, address);
    }
}

/// The `bytes` bytes of memory at `address` are about to be unmapped, whatever they are. Allocates nothing, unless a tensor's storage begins
/// there.
pub fn about_to_unmap(address: usize, bytes: usize) {
    if TAKEN.load(Ordering::Relaxed) == 0 {
        return;
    }
    let range = address.max(BUSY + 1)..address.saturating_add(bytes);
    for entry in used() {
        let start = entry.start.load(Ordering::Acquire);
        let is_here = range.contains(&start);
        if is_here && entry.start.compare_exchange(start, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            give_up(entry, start);
            named_memory::unmapped(page_of(start));
            TAKEN.fetch_sub(1, Ordering::Relaxed);
            entry.start.store(0, Ordering::Release);
        }
    }
}

/// In a forked child: what its parent has mapped stays the parent's.
pub fn forked() {
    used().iter().for_each(|entry| entry.own.store(0, Ordering::Relaxed));
    OWN.store(0, Ordering::Relaxed);
}

fn give_up(entry: &Entry, address: usize) {
    let bytes = entry.own.swap(0, Ordering::Relaxed);
    if bytes > 0
        && let Some(device) = devices::device(SHARED_MEMORY)
    {
        let own = OWN.fetch_sub(bytes, Ordering::Relaxed) - bytes;
        devices::freed(device, address as u64, bytes, totals(own));
    }
}

/// Where the page begins that has this address.
fn page_of(address: usize) -> usize {
    address / page_bytes() * page_bytes()
}

fn totals(own: u64) -> DeviceTotals {
    DeviceTotals { allocated: own, reserved: own }
}

fn find(address: usize) -> Option<&'static Entry> {
    used().iter().find(|entry| entry.start.load(Ordering::Acquire) == address)
}

fn used() -> &'static [Entry] {
    &ENTRIES[..USED.load(Ordering::Relaxed)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table is the process's: the addresses here are no other test's.
    #[test]
    fn a_storage_is_known_until_it_is_unmapped() {
        // The second is behind 64 bytes of the framework's, in the same mapping.
        let [first, second] = [0x7100_0000_0000, 0x7100_0010_0040];
        let pages = |bytes: usize| bytes.next_multiple_of(page_bytes());
        let own = || {
            let device = devices::device(SHARED_MEMORY).expect("room");
            devices::totals(device).map_or(0, |totals| totals.allocated)
        };
        let named = |address| named_memory::all().into_iter().find(|named| named.range.contains(&address));
        let before = own();
        tensor_mapped(first, 5_000, Some(Category::Input));
        tensor_mapped(first, 5_000, Some(Category::Input));
        tensor_mapped(second, 700, None);
        assert_eq!(own() - before, 5_700, "each once");
        assert_eq!(named(first).map(|named| (named.range, named.what)), Some((first..first + pages(5_000), LINE)));
        assert_eq!(named(second).map(|named| named.range), Some(second - 64..second - 64 + pages(764)));
        tensor_handed_over(first);
        tensor_handed_over(first);
        assert_eq!(own() - before, 700);
        assert!(named(first).is_some(), "its pages are still mapped");
        about_to_unmap(first - pages(1), pages(1));
        assert!(named(first).is_some(), "only what lies before it is unmapped");
        about_to_unmap(first, 5_000);
        about_to_unmap(second - 64, 764);
        about_to_unmap(second - 64, 764);
        assert_eq!((own() - before, named(first), named(second)), (0, None, None));
        tensor_mapped(first, 100, None);
        forked();
        assert_eq!(OWN.load(Ordering::Relaxed), 0, "the parent's");
        about_to_unmap(first, 100);
    }
}
