//! The storages that the operators of one thread are reading: told to the tracker when the operators end.
//!
//! Not when they start: an operator allocates its output first and reads then, and what is live at that peak it reads later.
//! Operators call others with their own inputs; a storage is told of once, by the outermost operator that reads it, which
//! ends last.
use std::cell::Cell;

use crate::event::Storage;

/// Storages beyond these are told of when their operator starts: then one whose peak is within that operator may be called
/// unread.
const MOST: usize = 512;
/// So many of the latest storages are looked through for one that is pending already.
const LATEST: usize = 32;

/// See the module's description. The storages of the innermost operator are the last.
pub(crate) struct PendingReads {
    storages: [Cell<Option<Storage>>; MOST],
    count: Cell<usize>,
}

impl PendingReads {
    pub(crate) const fn new() -> PendingReads {
        PendingReads { storages: [const { Cell::new(None) }; MOST], count: Cell::new(0) }
    }

    pub(crate) fn count(&self) -> usize {
        self.count.get()
    }

    /// Adds those storages that are not pending yet, and gives `no_room` those that found none.
    pub(crate) fn add(&self, storages: &[Storage], no_room: impl Fn(Storage)) {
        for &storage in storages {
            let count = self.count();
            let latest = &self.storages[count.saturating_sub(LATEST)..count];
            if latest.iter().any(|pending| pending.get() == Some(storage)) {
                continue;
            }
            match self.storages.get(count) {
                Some(place) => {
                    place.set(Some(storage));
                    self.count.set(count + 1);
                }
                None => no_room(storage),
            }
        }
    }

    /// Takes all but the first `count` storages off, if there are any, and gives them to `take`.
    pub(crate) fn take_from(&self, count: usize, take: impl FnOnce(&mut dyn Iterator<Item = Storage>)) {
        let pending = &self.storages[count..self.count()];
        if !pending.is_empty() {
            take(&mut pending.iter().filter_map(Cell::get));
        }
        self.count.set(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_is_pending_once_and_told_of_when_there_is_no_room() {
        let pending = PendingReads::new();
        let told = Cell::new(0);
        let no_room = |storage: Storage| told.set(told.get() * 1_000 + storage.address());
        let storages: Vec<Storage> = (1..=MOST + 2).filter_map(Storage::at).collect();
        pending.add(&storages[..2], no_room);
        pending.add(&storages[1..3], no_room);
        assert_eq!((pending.count(), told.get()), (3, 0));
        pending.add(&storages[3..], no_room);
        assert_eq!((pending.count(), told.get()), (MOST, (MOST + 1) * 1_000 + MOST + 2));
        let mut taken = Vec::new();
        pending.take_from(MOST - 1, |storages| taken.extend(storages.map(Storage::address)));
        assert_eq!((taken, pending.count()), (vec![MOST], MOST - 1));
    }
}
