//! How counts move: from the lane's words to the entries, and from there into the ring.
use std::sync::atomic::{Ordering, fence};

use super::{Entry, Slot, UNUSED, bump, bump_u32};
use crate::ledger::publish;
use crate::ledger::totals::Counts;
use crate::tag::scope::{ScopeId, TRACKER};

/// How often [`Slot::unpublished`] looks again when the thread is just moving what it shall read.
const LOOKS: usize = 1000;

impl Slot {
    /// Empties the lane's word of allocations into the active scope's counters.
    pub(super) fn gather_allocated(&self) {
        self.begin_moving();
        let counts = self.lane.take_allocated();
        self.change(self.current(), |entry| {
            bump(&entry.allocated, counts.allocated);
            bump(&entry.requested, counts.requested);
            bump(&entry.allocations, counts.allocations);
        });
        self.end_moving();
    }

    /// Empties the lane's word of frees into their scope's counters.
    pub(super) fn gather_freed(&self) {
        if !self.lane.has_freed() {
            return;
        }
        // First, because this may publish another scope's counters to make room.
        let entry = self.entry(self.freed.load(Ordering::Relaxed));
        self.begin_moving();
        let counts = self.lane.take_freed();
        self.change(entry, |entry| {
            bump(&entry.freed, counts.freed);
            bump(&entry.requested_freed, counts.requested_freed);
            bump(&entry.frees, counts.frees);
        });
        self.end_moving();
    }

    /// Empties the lane's words, one of which is full.
    pub fn gather(&self) {
        self.gather_allocated();
        self.gather_freed();
        if self.is_astray() {
            self.publish();
        }
    }

    /// Lets the lane gather the frees of `scope` from now on.
    pub fn gather_frees_of(&self, scope: ScopeId) {
        self.lane.close_frees();
        self.gather_freed();
        self.freed.store(scope, Ordering::Relaxed);
        self.lane.open_frees(scope);
        if self.is_astray() {
            self.publish();
        }
    }

    #[inline(always)]
    fn begin_moving(&self) {
        bump_u32(&self.moving);
        fence(Ordering::Release);
    }

    #[inline(always)]
    fn end_moving(&self) {
        fence(Ordering::Release);
        bump_u32(&self.moving);
    }

    /// Publishes all counters of this thread, unless it works as the tracker. That may be reading the ring, which then
    /// cannot be written to, or making the last table of a recording, which then misses what is published past it: the
    /// thread's own next batch is soon enough. Only the owner may call it.
    #[cold]
    pub fn publish(&self) {
        if self.scope() != TRACKER {
            self.publish_now();
        }
    }

    /// The same for a thread that ends.
    pub fn publish_now(&self) {
        self.gather_allocated();
        self.gather_freed();
        self.publish_entry(&self.tracker);
        for (word, used) in self.used.iter().enumerate() {
            let mut left = used.load(Ordering::Relaxed);
            while left != 0 {
                self.publish_entry(&self.entries[word * 64 + left.trailing_zeros() as usize]);
                left &= left - 1;
            }
        }
        // All are empty now, but for what the tracker itself has counted while it wrote to the ring.
        self.astray.store(self.tracker.astray(), Ordering::Relaxed);
    }

    fn publish_entry(&self, entry: &Entry) {
        let counts = self.take(entry);
        if counts != Counts::default() {
            publish::delta(Some(self), entry.scope.load(Ordering::Relaxed), &counts);
        }
    }

    /// What stands in the counters now; for the recorder, at the end of a session. Exact for threads that do nothing
    /// meanwhile.
    pub fn unpublished(&self) -> Vec<(ScopeId, Counts)> {
        let mut looks = 0;
        loop {
            let before = self.moving.load(Ordering::Acquire);
            let [allocated, freed] = self.lane.peek();
            let words = [(self.scope(), allocated), (self.freed.load(Ordering::Relaxed), freed)];
            let entries = self.entries.iter().chain([&self.tracker]);
            let found: Vec<_> = entries
                .map(|entry| (entry.scope.load(Ordering::Relaxed), entry.read()))
                .chain(words)
                .filter(|&(scope, counts)| scope != UNUSED && counts != Counts::default())
                .collect();
            fence(Ordering::Acquire);
            looks += 1;
            let still = before.is_multiple_of(2) && self.moving.load(Ordering::Relaxed) == before;
            // A thread that lost the processor while it was moving is not waited for.
            if still || looks == LOOKS {
                return found;
            }
        }
    }
}
