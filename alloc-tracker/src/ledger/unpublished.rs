//! What a thread has counted and not published yet, as the recorder reads it while the thread runs.
use std::sync::atomic::{Ordering, fence};

use alloc_replay::{Counts, ScopeId};

use super::slot::Slot;

/// How many times [`Slot::unpublished`] reads at most, while the owning thread keeps moving counts.
const LOOKS: usize = 1000;

impl Slot {
    /// What this thread has not published yet, by scope; for the recorder. Exact if the thread counts nothing
    /// meanwhile.
    pub fn unpublished(&self) -> Vec<(ScopeId, Counts)> {
        let mut looks = 0;
        loop {
            let before = self.moving.load(Ordering::Acquire);
            let (allocated, freed) = self.lane.peek();
            let words = [(self.scope(), allocated), (self.freed.load(Ordering::Relaxed), freed)];
            let all = self.counters.read().chain(words);
            let found: Vec<_> = all.filter(|(_, counts)| *counts != Counts::default()).collect();
            fence(Ordering::Acquire);
            looks += 1;
            let still = before.is_multiple_of(2) && self.moving.load(Ordering::Relaxed) == before;
            // A thread that lost the processor while it moved counts is not waited for.
            if still || looks == LOOKS {
                return found;
            }
        }
    }
}
