//! Process-wide counts by scope: atomics that any thread adds to and any thread reads.
use std::sync::atomic::{AtomicU64, Ordering};

use alloc_replay::{Counts, ScopeId};

use crate::scope::MAX_SCOPES;

/// [`Counts`] that several threads change.
#[derive(Debug)]
pub struct AtomicCounts([AtomicU64; Counts::LEN]);

impl AtomicCounts {
    /// Nothing counted yet.
    const fn new() -> Self {
        AtomicCounts([const { AtomicU64::new(0) }; Counts::LEN])
    }

    /// Adds `counts`.
    pub fn add(&self, counts: &Counts) {
        for (counter, amount) in self.0.iter().zip(counts.to_array()) {
            if amount != 0 {
                counter.fetch_add(amount, Ordering::Relaxed);
            }
        }
    }

    /// Reads all counters, one after the other: they may not fit together when other threads add meanwhile.
    pub fn read(&self) -> Counts {
        Counts::from_array(self.0.each_ref().map(|counter| counter.load(Ordering::Relaxed)))
    }
}

static SCOPES: [AtomicCounts; MAX_SCOPES] = [const { AtomicCounts::new() }; MAX_SCOPES];
/// Blocks of the program's that a thread without a slot resized.
pub static REALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// Frees of addresses that carry no tag.
pub static FOREIGN_FREES: AtomicU64 = AtomicU64::new(0);
/// Events that could not be written to the ring, and blocks that could not be tagged.
pub static DROPPED_EVENTS: AtomicU64 = AtomicU64::new(0);

/// The counts of one scope.
pub fn of(scope: ScopeId) -> &'static AtomicCounts {
    &SCOPES[usize::from(scope).min(MAX_SCOPES - 1)]
}

/// The addresses that the counts occupy.
pub fn range() -> (usize, usize) {
    let start = SCOPES.as_ptr().addr();
    (start, start + size_of_val(&SCOPES))
}
