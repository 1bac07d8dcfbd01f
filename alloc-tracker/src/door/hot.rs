//! The way of nearly every allocation: a small block on a thread that has a slot. Everything else branches off to
//! `cold.rs` at the first comparison that tells.
use std::sync::atomic::Ordering;

use super::{backend, cold};
use crate::ledger::pool;
use crate::ledger::slot::{Slot, bump};
use crate::tag::class::{self, SMALL_MAX};
use crate::tag::shadow::{self, TINY};
use crate::tag::tiny;

/// Allocates `size` bytes at the backend's natural alignment. Null and ENOMEM when there is no memory.
#[inline(always)]
pub fn allocate(size: usize) -> *mut u8 {
    // SAFETY: a non-null current() points to this thread's slot, which stays mapped for ever.
    let Some(slot) = (unsafe { pool::current().as_ref() }) else { return cold::allocate(size) };
    if size > SMALL_MAX {
        return cold::allocate(size);
    }
    let block = backend::malloc(size);
    if !block.is_null() {
        count_small(slot, block, size);
    }
    block
}

/// The same, zeroed, for `count` times `size` bytes; pages of a large block that nobody has touched stay untouched.
#[inline]
pub fn allocate_zeroed(count: usize, size: usize) -> *mut u8 {
    let block = backend::calloc(count, size);
    // Where the product overflows, the block is null and nothing is counted.
    let bytes = count.wrapping_mul(size);
    // SAFETY: a non-null current() points to this thread's slot, which stays mapped for ever.
    match unsafe { pool::current().as_ref() } {
        Some(slot) if bytes <= SMALL_MAX && !block.is_null() => count_small(slot, block, bytes),
        _ => cold::count(block, bytes),
    }
    block
}

/// Tags and counts a fresh small block of natural alignment.
#[inline(always)]
pub fn count_small(slot: &Slot, block: *mut u8, requested: usize) {
    let usable = class::usable(requested);
    let entry = slot.current();
    let Some(place) = shadow::find_or_map(block.addr()) else { return };
    let scope = entry.scope.load(Ordering::Relaxed);
    if requested > 16 {
        place.store(0, scope + 1);
        place.store(1, requested as u16);
    } else {
        place.store(0, TINY | tiny::tag(scope, requested, usable));
    }
    bump(&entry.allocated, usable as u64);
    bump(&entry.requested, requested as u64);
    bump(&entry.allocations, 1);
    if slot.strays(usable as i64) {
        slot.publish();
    }
}

/// Frees a block of whatever origin, or nothing for null.
///
/// # Safety
/// `block` is null or a live block that the caller may free.
#[inline(always)]
pub unsafe fn release(block: *mut u8) {
    // SAFETY: a non-null current() points to this thread's slot, which stays mapped for ever.
    let slot = unsafe { pool::current().as_ref() };
    let (Some(slot), Some(place)) = (slot, shadow::find(block.addr())) else {
        // SAFETY: as the caller promises.
        return unsafe { cold::release(block) };
    };
    let first = place.load(0);
    if first.wrapping_sub(1) < TINY - 1 {
        let requested = usize::from(place.load(1));
        if requested <= SMALL_MAX {
            place.store(0, 0);
            uncount(slot, first - 1, class::usable(requested), requested);
            // SAFETY: the tag says that the block came from `malloc` with this very size; the caller may free it.
            return unsafe { backend::free_sized(block, requested) };
        }
    }
    // SAFETY: as the caller promises.
    unsafe { cold::release(block) }
}

/// Counts a free of a small block of `scope`.
#[inline(always)]
pub fn uncount(slot: &Slot, scope: u16, usable: usize, requested: usize) {
    let entry = slot.entry(scope);
    bump(&entry.freed, usable as u64);
    bump(&entry.requested_freed, requested as u64);
    bump(&entry.frees, 1);
    if slot.strays(-(usable as i64)) {
        slot.publish();
    }
}
