//! Counters of one scope in one thread's part of the ledger, and how they are moved.
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use super::totals::Counts;
use crate::tag::scope::MAX_SCOPES;

/// The scope number of an unused entry.
pub const UNUSED: u16 = MAX_SCOPES as u16;

/// Counts of one scope that are not published yet.
#[repr(C)]
pub struct Entry {
    /// The scope; `UNUSED` when the entry holds nothing.
    pub scope: AtomicU16,
    pub allocated: AtomicU64,
    pub freed: AtomicU64,
    pub requested: AtomicU64,
    pub requested_freed: AtomicU64,
    pub allocations: AtomicU64,
    pub frees: AtomicU64,
    pub moved_in: AtomicU64,
}

/// `cell += amount`, wrapping, for a cell that only this thread and its signal handlers write: one instruction, so that
/// neither loses what the other adds.
#[inline(always)]
pub fn bump(cell: &AtomicU64, amount: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the cell is valid memory; to other threads a plain addition is as good as a relaxed load and store.
    unsafe {
        std::arch::asm!("add qword ptr [{}], {}", in(reg) cell.as_ptr(), in(reg) amount, options(nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    cell.fetch_add(amount, Ordering::Relaxed);
}

impl Entry {
    /// Adds `counts`.
    pub fn add(&self, counts: &Counts) {
        bump(&self.allocated, counts.allocated);
        bump(&self.freed, counts.freed);
        bump(&self.requested, counts.requested);
        bump(&self.requested_freed, counts.requested_freed);
        bump(&self.allocations, counts.allocations);
        bump(&self.frees, counts.frees);
        bump(&self.moved_in, counts.moved_in);
    }

    /// By how many bytes what stands here changes what its scope holds, usable or requested, whichever is more.
    pub fn astray(&self) -> u64 {
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let usable = load(&self.allocated).wrapping_sub(load(&self.freed)) as i64;
        let requested = load(&self.requested).wrapping_sub(load(&self.requested_freed)) as i64;
        usable.unsigned_abs().max(requested.unsigned_abs())
    }

    /// What stands here.
    pub fn read(&self) -> Counts {
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        Counts {
            allocated: load(&self.allocated),
            freed: load(&self.freed),
            requested: load(&self.requested),
            requested_freed: load(&self.requested_freed),
            allocations: load(&self.allocations),
            frees: load(&self.frees),
            moved_in: load(&self.moved_in),
        }
    }

    /// Takes `counts`, which have been read from here, away again. What a signal handler has added since stays.
    pub fn subtract(&self, counts: &Counts) {
        let cells = [
            (&self.allocated, counts.allocated),
            (&self.freed, counts.freed),
            (&self.requested, counts.requested),
            (&self.requested_freed, counts.requested_freed),
            (&self.allocations, counts.allocations),
            (&self.frees, counts.frees),
            (&self.moved_in, counts.moved_in),
        ];
        cells.into_iter().for_each(|(cell, amount)| bump(cell, amount.wrapping_neg()));
    }

    /// Empties it.
    pub fn clear(&self) {
        self.subtract(&self.read());
    }
}
