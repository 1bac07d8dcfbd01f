//! An append-only table without locks. Entries are appended and never change or move; an open-addressed index of atomic
//! numbers finds them, in the order of [`places`](crate::places).
//!
//! A fork, a signal handler or a thread that dies in the middle of an insertion leaves at worst an unused number.
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::places;

/// A place of the index: in this many low bits an entry's number + 1, or 0; above them bits of its hash, so that the entry itself is
/// rarely looked at in vain.
const NUMBER_BITS: u32 = 17;

/// An append-only table: from a number to its entry, and from an entry's hash to its number.
pub struct Table<T: 'static, const N: usize, const INDEX: usize> {
    entries: [AtomicPtr<T>; N],
    index: [AtomicU32; INDEX],
    next: AtomicU32,
}

impl<T: 'static, const N: usize, const INDEX: usize> Table<T, N, INDEX> {
    /// An empty table whose first `reserved` numbers stand for entries that are not in it.
    pub const fn new(reserved: u32) -> Self {
        Table {
            entries: [const { AtomicPtr::new(ptr::null_mut()) }; N],
            index: [const { AtomicU32::new(0) }; INDEX],
            next: AtomicU32::new(reserved),
        }
    }

    /// The entry of a number; `None` when there is none.
    pub fn get(&self, number: u32) -> Option<&'static T> {
        let entry = self.entries.get(number as usize)?.load(Ordering::Acquire);
        // SAFETY: entries are null or leaked boxes (`append`), valid for the rest of the process.
        unsafe { entry.as_ref() }
    }

    /// One more than the last number in use: every number below it is reserved or has an entry.
    pub fn len(&self) -> u32 {
        self.next.load(Ordering::Acquire).min(N as u32)
    }

    /// The entry with this hash for which `is` returns true; `None` when there is none.
    pub fn find(&self, hash: u64, is: impl Fn(&T) -> bool) -> Option<&'static T> {
        self.find_number(hash, is).and_then(|number| self.get(number))
    }

    /// The number of that entry.
    pub fn find_number(&self, hash: u64, is: impl Fn(&T) -> bool) -> Option<u32> {
        for place in places::order(hash, INDEX) {
            let held = self.index[place].load(Ordering::Acquire);
            if held == 0 {
                return None;
            }
            if let Some(number) = self.number_in(held, hash, &is) {
                return Some(number);
            }
        }
        None
    }

    /// The number in a place that is not empty, if its entry has this hash and `is` returns true for it.
    #[inline]
    fn number_in(&self, held: u32, hash: u64, is: impl Fn(&T) -> bool) -> Option<u32> {
        let number = (held & ((1 << NUMBER_BITS) - 1)) - 1;
        (held >> NUMBER_BITS == tag(hash) && self.get(number).is_some_and(is)).then_some(number)
    }

    /// The number of the entry with this hash for which `is` returns true. If there is none, `make` makes a new entry.
    /// `None` when the table is full.
    pub fn intern(&self, hash: u64, is: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> Option<u32> {
        const { assert!(N < 1 << NUMBER_BITS) };
        let mut fresh: Option<u32> = None;
        let mut make = Some(make);
        for place in places::order(hash, INDEX) {
            let mut held = self.index[place].load(Ordering::Acquire);
            if held == 0 {
                let number = match fresh {
                    Some(number) => number,
                    None => self.append(make.take()?())?,
                };
                fresh = Some(number);
                let filled = (number + 1) | (tag(hash) << NUMBER_BITS);
                match self.index[place].compare_exchange(0, filled, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => return Some(number),
                    // Another thread took the place. If that is the same entry, the number of ours stays unused.
                    Err(other) => held = other,
                }
            }
            if let Some(number) = self.number_in(held, hash, &is) {
                return Some(number);
            }
        }
        None
    }

    /// Puts the entry into the first free place and returns its number; `None` when the table is full. The length only
    /// grows past filled places: a thread that finds the next place filled by another thread moves the length itself.
    fn append(&self, entry: T) -> Option<u32> {
        let entry = Box::into_raw(Box::new(entry));
        loop {
            let number = self.next.load(Ordering::Acquire);
            let Some(place) = self.entries.get(number as usize) else {
                // SAFETY: the pointer is from `Box::into_raw` above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(entry) });
                return None;
            };
            let taken = place.compare_exchange(ptr::null_mut(), entry, Ordering::AcqRel, Ordering::Acquire);
            // When this fails, another thread has already moved the length.
            let _ = self.next.compare_exchange(number, number + 1, Ordering::AcqRel, Ordering::Acquire);
            if taken.is_ok() {
                return Some(number);
            }
        }
    }
}

/// The bits of a hash that a place keeps.
fn tag(hash: u64) -> u32 {
    (hash ^ hash >> 32) as u32 & ((1 << (u32::BITS - NUMBER_BITS)) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recorder writes down what each number stands for as soon as it is below the length, once.
    #[test]
    fn numbers_below_the_length_have_entries() {
        const RESERVED: u32 = 4;
        static TABLE: Table<u32, 100_000, 200_000> = Table::new(RESERVED);
        std::thread::scope(|threads| {
            let makers: Vec<_> =
                (0..2).map(|_| threads.spawn(|| (0..40_000).map(|entry| TABLE.append(entry)).max())).collect();
            while makers.iter().any(|maker| !maker.is_finished()) {
                let latest = TABLE.len() - 1;
                assert!(latest < RESERVED || TABLE.get(latest).is_some(), "{latest}");
            }
        });
        assert_eq!(TABLE.len(), 80_000 + RESERVED);
        assert!((RESERVED..TABLE.len()).all(|number| TABLE.get(number).is_some()));
    }
}
