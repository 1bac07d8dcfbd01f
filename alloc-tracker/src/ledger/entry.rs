//! One entry of a thread's counters: those of one scope.
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use alloc_replay::Counts;

use super::own_word;
use crate::scope::MAX_SCOPES;

/// The scope number of an unused entry.
pub const UNUSED: u16 = MAX_SCOPES as u16;

/// Counts of one scope that its thread has not published yet.
#[repr(C)]
pub struct Entry {
    /// The scope; [`UNUSED`] when the entry holds nothing.
    pub scope: AtomicU16,
    counters: [AtomicU64; Counts::LEN],
}

impl Entry {
    /// Adds `counts`. Counters that are known to be 0 where this is inlined cost nothing.
    #[inline(always)]
    pub fn add(&self, counts: &Counts) {
        for (counter, amount) in self.counters.iter().zip(counts.to_array()) {
            if amount != 0 {
                own_word::add(counter, amount);
            }
        }
    }

    /// What the entry holds.
    pub fn read(&self) -> Counts {
        Counts::from_array(self.counters.each_ref().map(|counter| counter.load(Ordering::Relaxed)))
    }

    /// By how many bytes the published live bytes of the scope deviate because of this entry: in usable or in requested
    /// bytes, whichever is more.
    #[inline(always)]
    pub fn deviation(&self) -> u64 {
        // In the order of the fields of `Counts`; the others do not matter here, and are not read.
        let [allocated, freed, requested, requested_freed, ..] = &self.counters;
        let [allocated, freed, requested, requested_freed] =
            [allocated, freed, requested, requested_freed].map(|counter| counter.load(Ordering::Relaxed));
        let counts = Counts { allocated, freed, requested, requested_freed, ..Counts::default() };
        counts.live().unsigned_abs().max(counts.live_requested().unsigned_abs())
    }

    /// Subtracts `counts`, which were read from this entry. What a signal handler has added since then stays.
    pub fn subtract(&self, counts: &Counts) {
        self.add(&-*counts);
    }

    /// Empties the entry.
    pub fn clear(&self) {
        self.subtract(&self.read());
    }
}
