//! Process-wide counts by scope: atomics that any thread adds to and anybody reads.
use std::sync::atomic::{AtomicU64, Ordering};

use crate::tag::scope::{MAX_SCOPES, ScopeId};

/// What one scope did, as far as counted here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Usable bytes allocated.
    pub allocated: u64,
    /// Usable bytes freed.
    pub freed: u64,
    /// Requested bytes allocated.
    pub requested: u64,
    /// Requested bytes freed.
    pub requested_freed: u64,
    /// Blocks allocated.
    pub allocations: u64,
    /// Blocks freed.
    pub frees: u64,
    /// Blocks that came to this count other than by allocation (a realloc moved them between lanes), less those that
    /// left it so. Wraps below zero.
    pub moved_in: u64,
}

impl Counts {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: &Counts) {
        self.allocated = self.allocated.wrapping_add(other.allocated);
        self.freed = self.freed.wrapping_add(other.freed);
        self.requested = self.requested.wrapping_add(other.requested);
        self.requested_freed = self.requested_freed.wrapping_add(other.requested_freed);
        self.allocations = self.allocations.wrapping_add(other.allocations);
        self.frees = self.frees.wrapping_add(other.frees);
        self.moved_in = self.moved_in.wrapping_add(other.moved_in);
    }

    /// Usable bytes not yet freed; negative where a thread frees what another allocated.
    pub fn live(&self) -> i64 {
        self.allocated.wrapping_sub(self.freed) as i64
    }

    /// Requested bytes not yet freed.
    pub fn live_requested(&self) -> i64 {
        self.requested.wrapping_sub(self.requested_freed) as i64
    }

    /// Blocks not yet freed.
    pub fn live_blocks(&self) -> i64 {
        self.allocations.wrapping_add(self.moved_in).wrapping_sub(self.frees) as i64
    }
}

/// [`Counts`] as atomics.
#[derive(Debug)]
pub struct Shared {
    fields: [AtomicU64; 7],
}

impl Shared {
    /// Nothing counted yet.
    #[allow(clippy::new_without_default, reason = "const, for statics")]
    pub const fn new() -> Self {
        Shared { fields: [const { AtomicU64::new(0) }; 7] }
    }

    /// Adds `counts`.
    pub fn add(&self, counts: &Counts) {
        let amounts = [
            counts.allocated,
            counts.freed,
            counts.requested,
            counts.requested_freed,
            counts.allocations,
            counts.frees,
            counts.moved_in,
        ];
        for (field, amount) in self.fields.iter().zip(amounts) {
            if amount != 0 {
                field.fetch_add(amount, Ordering::Relaxed);
            }
        }
    }

    /// Reads all fields; not at one instant when others add meanwhile.
    pub fn read(&self) -> Counts {
        let [allocated, freed, requested, requested_freed, allocations, frees, moved_in] =
            self.fields.each_ref().map(|field| field.load(Ordering::Relaxed));
        Counts { allocated, freed, requested, requested_freed, allocations, frees, moved_in }
    }
}

static SCOPES: [Shared; MAX_SCOPES] = [const { Shared::new() }; MAX_SCOPES];
/// Blocks that a thread without a slot resized.
pub static REALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// Frees of addresses that carry no tag.
pub static FOREIGN_FREES: AtomicU64 = AtomicU64::new(0);
/// Events that could not be put into order.
pub static DROPPED_EVENTS: AtomicU64 = AtomicU64::new(0);

/// The counts of one scope.
pub fn of(scope: ScopeId) -> &'static Shared {
    &SCOPES[usize::from(scope).min(MAX_SCOPES - 1)]
}

/// The addresses that the counts occupy.
pub fn range() -> (usize, usize) {
    let start = SCOPES.as_ptr().addr();
    (start, start + size_of_val(&SCOPES))
}
