//! Memory that the program maps for itself, and of which somebody knows what it is for, such as the arenas of Python's objects: so
//! that the book has a line for it, by the layer or phase in which it was mapped.
//!
//! A table of a fixed size without locks: whoever maps memory may hold any lock of the program's. What finds no room in it
//! stays a mapping without a name.
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use alloc_replay::{NameId, ScopeId};

use crate::{ledger, scope};

/// So many mappings have room, 8 GiB of Python's arenas.
const MOST: usize = 8192;
/// Stands in the place of an address while an entry is written. 0: the entry is free.
const BUSY: usize = 1;

struct Entry {
    start: AtomicUsize,
    end: AtomicUsize,
    what: AtomicU32,
    scope: AtomicU32,
}

static ENTRIES: [Entry; MOST] = [const {
    Entry { start: AtomicUsize::new(0), end: AtomicUsize::new(0), what: AtomicU32::new(0), scope: AtomicU32::new(0) }
}; MOST];
/// Entries from here on were never used.
static USED: AtomicUsize = AtomicUsize::new(0);

/// A mapping with what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its addresses.
    pub range: std::ops::Range<usize>,
    /// What it is for.
    pub what: &'static str,
    /// The layer, or where there was none the phase, in which it was mapped.
    pub place: String,
}

/// The addresses of the table.
pub fn range() -> (usize, usize) {
    let start = ENTRIES.as_ptr().addr();
    (start, start + size_of_val(&ENTRIES))
}

/// Memory was mapped on this thread that is for `what`, the number of a name. Allocates nothing.
pub fn mapped(what: NameId, start: usize, bytes: usize) {
    let active: ScopeId = ledger::acquire().map_or(0, |slot| slot.scope());
    let take = |entry: &Entry| {
        entry.start.load(Ordering::Relaxed) == 0
            && entry.start.compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
    };
    let Some(place) = ENTRIES.iter().position(take) else { return };
    USED.fetch_max(place + 1, Ordering::Relaxed);
    let entry = &ENTRIES[place];
    entry.end.store(start.saturating_add(bytes), Ordering::Relaxed);
    entry.what.store(what, Ordering::Relaxed);
    entry.scope.store(active.into(), Ordering::Relaxed);
    entry.start.store(start, Ordering::Release);
}

/// The memory at `start` is about to be unmapped. Allocates nothing.
pub fn unmapped(start: usize) {
    for entry in used() {
        if entry.start.compare_exchange(start, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

/// All of it, by address.
pub fn all() -> Vec<Named> {
    let mut all: Vec<Named> = used().iter().filter_map(Entry::read).collect();
    all.sort_by_key(|named| named.range.start);
    all
}

fn used() -> &'static [Entry] {
    &ENTRIES[..USED.load(Ordering::Relaxed)]
}

impl Entry {
    fn read(&self) -> Option<Named> {
        let start = self.start.load(Ordering::Acquire);
        if start <= BUSY {
            return None;
        }
        let end = self.end.load(Ordering::Relaxed);
        let what = scope::text(self.what.load(Ordering::Relaxed));
        let owner = scope::describe(self.scope.load(Ordering::Relaxed) as ScopeId);
        // Another mapping may have taken the entry meanwhile.
        if self.start.load(Ordering::Acquire) != start {
            return None;
        }
        let names = [owner.layer, owner.phase].into_iter().find(|name| !name.is_empty());
        let place = names.unwrap_or_else(|| "in no layer and no phase".to_owned());
        Some(Named { range: start..end, what, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table is the process's: the addresses here are no other test's.
    #[test]
    fn a_mapping_is_known_with_the_scope_that_mapped_it() {
        let what = scope::name("arenas");
        let [first, second] = [0x7000_0000_0000, 0x7000_0010_0000];
        let inner = crate::layer("imported");
        mapped(what, second, 4096);
        drop(inner);
        mapped(what, first, 8192);
        let own = || all().into_iter().filter(|named| named.what == "arenas").collect::<Vec<_>>();
        let named = |range, place: &str| Named { range, what: "arenas", place: place.to_owned() };
        let before = named(first..first + 8192, "in no layer and no phase");
        assert_eq!(own(), [before.clone(), named(second..second + 4096, "imported")]);
        unmapped(second);
        unmapped(second);
        assert_eq!(own(), [before]);
        unmapped(first);
        assert_eq!(own(), []);
    }
}
