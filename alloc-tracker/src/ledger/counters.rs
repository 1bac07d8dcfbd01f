//! A thread's counters by scope, and how far the published counts deviate from the truth because of them.
//!
//! The *deviation* of an entry is the number of bytes by which its scope's live bytes have changed since the last
//! publication: up or down, in usable or in requested bytes, whichever is more. When the deviations of all entries add
//! up to more than 32 KiB, all entries are published. So no sum over scopes is ever wrong by more than 32 KiB, plus the
//! bytes in the lane's words. (Looking at the thread's balance over all scopes would not be enough. A thread that
//! allocates in one scope and frees the same amount in another has a balance of 0, while the published counts of both
//! scopes are wrong.)
//!
//! Only the owning thread and its signal handlers write the counters. The recorder reads those of running threads.
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use alloc_replay::{Counts, ScopeId, TRACKER};

use super::entry::{Entry, UNUSED};
use super::own_word;
use super::publish::{self, RingAccess};
use crate::sys;

/// Entries in one thread's counters; a power of two.
const ENTRIES: usize = 128;
/// When the deviations of all entries add up to more bytes than this, all entries are published.
pub const DEVIATION_LIMIT: i64 = 32 * 1024;

/// One thread's counters.
#[repr(C)]
pub struct Counters {
    /// The entry of the active scope.
    active: AtomicPtr<Entry>,
    /// The sum of all entries' deviations.
    deviation: AtomicU64,
    /// This thread's access to the ring.
    pub ring: RingAccess,
    /// Which entries are not [`UNUSED`], a bit each.
    used: [AtomicU64; ENTRIES / 64],
    entries: [Entry; ENTRIES],
    /// The tracker's own entry, which is never published to the ring. It displaces no other entry and is never
    /// displaced: displacing would write to the ring, and a thread that works as the tracker may be reading the ring.
    tracker: Entry,
}

impl Counters {
    /// Makes counters out of zeroed or formerly used memory.
    pub fn prepare(&self) {
        self.deviation.store(0, Ordering::Relaxed);
        self.ring.reset();
        for entry in &self.entries {
            entry.scope.store(UNUSED, Ordering::Relaxed);
            entry.clear();
        }
        self.tracker.scope.store(TRACKER, Ordering::Relaxed);
        self.tracker.clear();
        self.used.iter().for_each(|used| used.store(0, Ordering::Relaxed));
        self.active.store(ptr::from_ref(&self.tracker).cast_mut(), Ordering::Relaxed);
    }

    /// The active scope's entry.
    #[inline(always)]
    fn active(&self) -> &Entry {
        // SAFETY: `active` points to an entry of these very counters since `prepare`, and counters live in memory that
        // is never unmapped.
        unsafe { &*self.active.load(Ordering::Relaxed) }
    }

    /// The active scope.
    #[inline(always)]
    pub fn active_scope(&self) -> ScopeId {
        self.active().scope.load(Ordering::Relaxed)
    }

    /// Makes `scope` the active one.
    pub fn activate(&self, scope: ScopeId) {
        // The new entry may displace the old active one. In between nothing may be counted for the active scope, and
        // nothing is: only this thread counts here, and its lane is closed (`Slot::select`).
        if let Some(entry) = self.find_or_displace(scope, ptr::null()) {
            self.active.store(ptr::from_ref(entry).cast_mut(), Ordering::Relaxed);
        }
    }

    /// Adds to the active scope's counters.
    #[inline(always)]
    pub fn add_to_active(&self, counts: &Counts) {
        self.change(self.active(), |entry| entry.add(counts));
    }

    /// Adds to the counters of `scope`. May publish another scope's counters to make room.
    #[inline(always)]
    pub fn add(&self, scope: ScopeId, counts: &Counts) {
        self.change(self.entry(scope), |entry| entry.add(counts));
    }

    /// Makes sure that the next [`Counters::add`] to `scope` publishes nothing.
    #[inline(always)]
    pub fn make_room(&self, scope: ScopeId) {
        self.entry(scope);
    }

    #[inline(always)]
    fn entry(&self, scope: ScopeId) -> &Entry {
        let entry = &self.entries[usize::from(scope) % ENTRIES];
        if entry.scope.load(Ordering::Relaxed) == scope { entry } else { self.entry_elsewhere(scope) }
    }

    #[cold]
    fn entry_elsewhere(&self, scope: ScopeId) -> &Entry {
        // At most one of the scope's two places holds the active entry, so there is always an entry to displace.
        self.find_or_displace(scope, self.active.load(Ordering::Relaxed)).unwrap_or(self.active())
    }

    /// The entry of `scope`, in one of its two places. If it is in neither, it takes an unused place, or displaces an
    /// entry other than `kept`; the displaced entry is published.
    fn find_or_displace(&self, scope: ScopeId, kept: *const Entry) -> Option<&Entry> {
        if scope == TRACKER {
            return Some(&self.tracker);
        }
        let first = usize::from(scope) % ENTRIES;
        let places = [&self.entries[first], &self.entries[first ^ 1]];
        if let Some(held) = places.iter().find(|entry| entry.scope.load(Ordering::Relaxed) == scope) {
            return Some(held);
        }
        let free = places.iter().find(|entry| entry.scope.load(Ordering::Relaxed) == UNUSED);
        let entry = match free {
            Some(entry) => entry,
            None => places.iter().find(|entry| !ptr::eq(**entry, kept))?,
        };
        let mut counts = self.take(entry);
        let former = own_word::exchange(&entry.scope, UNUSED);
        // A signal handler may have counted in this entry until it was marked as unused, and may have taken the place
        // since.
        counts += self.take(entry);
        let taken = own_word::replace(&entry.scope, UNUSED, scope);
        let index = if ptr::eq(*entry, places[0]) { first } else { first ^ 1 };
        let (used, bit) = (&self.used[index / 64], 1 << (index % 64));
        if used.load(Ordering::Relaxed) & bit == 0 {
            used.fetch_or(bit, Ordering::Relaxed);
        }
        if former != UNUSED && counts != Counts::default() {
            publish::batch(Some(&self.ring), former, &counts, sys::now_ns);
        }
        if taken.is_ok() { Some(entry) } else { self.find_or_displace(scope, kept) }
    }

    /// Empties `entry` and returns what it held.
    fn take(&self, entry: &Entry) -> Counts {
        let counts = entry.read();
        if counts != Counts::default() {
            self.change(entry, |entry| entry.subtract(&counts));
        }
        counts
    }

    /// Changes `entry` and updates the sum of deviations. The deviation of what a signal handler counts in between may
    /// be added twice or not at all; the next publication corrects that.
    #[inline(always)]
    fn change(&self, entry: &Entry, change: impl FnOnce(&Entry)) {
        let before = entry.deviation();
        change(entry);
        own_word::add(&self.deviation, entry.deviation().wrapping_sub(before));
    }

    /// Whether the counters should be published.
    pub fn deviates(&self) -> bool {
        self.deviation.load(Ordering::Relaxed) as i64 > DEVIATION_LIMIT
    }

    /// Publishes all counters.
    pub fn publish(&self) {
        // All at one time: reading the clock would take as long as the rest.
        let read_ns = Cell::new(0);
        let now_ns = || {
            if read_ns.get() == 0 {
                read_ns.set(sys::now_ns());
            }
            read_ns.get()
        };
        self.publish_entry(&self.tracker, now_ns);
        for (word, used) in self.used.iter().enumerate() {
            let mut left = used.load(Ordering::Relaxed);
            while left != 0 {
                self.publish_entry(&self.entries[word * 64 + left.trailing_zeros() as usize], now_ns);
                left &= left - 1;
            }
        }
        // All entries are empty now, except for what the tracker has allocated while this wrote to the ring.
        self.deviation.store(self.tracker.deviation(), Ordering::Relaxed);
    }

    fn publish_entry(&self, entry: &Entry, now_ns: impl Fn() -> u64) {
        let counts = self.take(entry);
        if counts != Counts::default() {
            publish::batch(Some(&self.ring), entry.scope.load(Ordering::Relaxed), &counts, now_ns);
        }
    }

    /// What the counters hold, by scope.
    pub fn read(&self) -> impl Iterator<Item = (ScopeId, Counts)> {
        let entries = self.entries.iter().chain([&self.tracker]);
        entries.map(|entry| (entry.scope.load(Ordering::Relaxed), entry.read())).filter(|&(scope, _)| scope != UNUSED)
    }
}
