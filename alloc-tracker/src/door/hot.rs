//! The way of nearly every allocation: a small block on a thread that has a slot. Everything else branches off to
//! `cold.rs` at the first comparison that tells.
use std::hint::cold_path;
use std::sync::atomic::Ordering;

use super::{backend, cold};
use crate::ledger::pool;
use crate::ledger::slot::{Entry, Slot, bump};
use crate::tag::class::{self, SMALL_MAX};
use crate::tag::scope::OTHER_SCOPES;
use crate::tag::shadow::{self, Place, TINY};
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
    if block.is_null() {
        return block;
    }
    count_small(slot, block, size)
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
        _ => count_first(block, bytes),
    }
}

/// Tags and counts a fresh small block of natural alignment, and gives it back.
#[inline(always)]
pub fn count_small(slot: &Slot, block: *mut u8, requested: usize) -> *mut u8 {
    if requested <= 16 {
        return count_tiny(slot, block, requested);
    }
    let Some(place) = shadow::find_even(block.addr()) else { return count_first(block, requested) };
    let entry = slot.current();
    place.store(0, entry.scope.load(Ordering::Relaxed) + 1);
    place.store(1, requested as u16);
    add(slot, entry, block, class::usable(requested), requested)
}

#[inline(never)]
fn count_tiny(slot: &Slot, block: *mut u8, requested: usize) -> *mut u8 {
    let Some(place) = shadow::find_or_map(block.addr()) else { return block };
    let mut entry = slot.current();
    let usable = class::usable(requested);
    let tag = tiny::plain_tag(entry.scope.load(Ordering::Relaxed), requested);
    if tiny::is_others(tag) {
        entry = slot.entry(OTHER_SCOPES);
    }
    place.store(0, TINY | tag);
    add(slot, entry, block, usable, requested)
}

/// The first block in its part of the address space.
#[cold]
fn count_first(block: *mut u8, requested: usize) -> *mut u8 {
    cold::count(block, requested);
    block
}

/// Counts an allocation of the active scope, and gives the block back.
#[inline(always)]
fn add(slot: &Slot, entry: &Entry, block: *mut u8, usable: usize, requested: usize) -> *mut u8 {
    bump(&entry.allocated, usable as u64);
    bump(&entry.requested, requested as u64);
    bump(&entry.allocations, 1);
    if slot.strays_up(usable as i64) {
        return publish_and_give(slot, block);
    }
    block
}

#[cold]
#[inline(never)]
fn publish_and_give(slot: &Slot, block: *mut u8) -> *mut u8 {
    slot.publish();
    block
}

/// Frees a block of whatever origin, or nothing for null.
///
/// # Safety
/// `block` is null or a live block that the caller may free.
#[inline(always)]
pub unsafe fn release(block: *mut u8) {
    // SAFETY: a non-null current() points to this thread's slot, which stays mapped for ever.
    let slot = unsafe { pool::current().as_ref() };
    if let Some(slot) = slot
        && let Some(place) = shadow::find(block.addr())
    {
        // Every way out but the last is a jump, so that this function needs no stack.
        let first = place.load(0);
        if first as i16 <= 0 {
            // 0 is a stranger's block; above are those whose second entry is another block's.
            cold_path();
            // SAFETY: as the caller promises.
            return unsafe { release_tiny(slot, block, place, first) };
        }
        let requested = usize::from(place.load(1));
        let entry = slot.likely_entry(first - 1);
        if requested > SMALL_MAX || entry.scope.load(Ordering::Relaxed) != first - 1 {
            cold_path();
            // SAFETY: as the caller promises.
            return unsafe { cold::release(block) };
        }
        place.store(0, 0);
        let usable = class::usable(requested);
        bump(&entry.freed, usable as u64);
        bump(&entry.requested_freed, requested as u64);
        bump(&entry.frees, 1);
        if slot.strays_down(usable as i64) {
            cold_path();
            // SAFETY: the tag says that the block came from `malloc` with this very size; the caller may free it.
            return unsafe { publish_and_free(slot, block, requested) };
        }
        // SAFETY: as above.
        return unsafe { backend::free_sized(block, requested) };
    }
    // SAFETY: as the caller promises.
    unsafe { cold::release(block) }
}

/// # Safety
/// As for [`backend::free_sized`].
#[cold]
#[inline(never)]
unsafe fn publish_and_free(slot: &Slot, block: *mut u8, size: usize) {
    slot.publish();
    // SAFETY: as the caller promises.
    unsafe { backend::free_sized(block, size) }
}

/// [`release`] for a tiny block on the even half of its granule.
///
/// # Safety
/// As for [`release`]; `first` is the entry at `place`, which is the block's.
#[inline(never)]
unsafe fn release_tiny(slot: &Slot, block: *mut u8, place: Place, first: u16) {
    if first & TINY == 0 {
        // SAFETY: as the caller promises.
        return unsafe { cold::release(block) };
    }
    let tiny = tiny::pair(first);
    let entry = slot.likely_entry(tiny.scope);
    if entry.scope.load(Ordering::Relaxed) != tiny.scope {
        // SAFETY: as the caller promises.
        return unsafe { cold::release(block) };
    }
    place.store(0, 0);
    bump(&entry.freed, tiny.usable as u64);
    bump(&entry.requested_freed, tiny.requested as u64);
    bump(&entry.frees, 1);
    if slot.strays_down(tiny.usable as i64) {
        // SAFETY: the caller may free the block, and its usable size is in its own class.
        return unsafe { publish_and_free(slot, block, tiny.usable) };
    }
    // SAFETY: as above.
    unsafe { backend::free_sized(block, tiny.usable) }
}

/// Counts a free of a small block of `scope`.
#[inline(always)]
pub fn uncount(slot: &Slot, scope: u16, usable: usize, requested: usize) {
    let entry = slot.entry(scope);
    bump(&entry.freed, usable as u64);
    bump(&entry.requested_freed, requested as u64);
    bump(&entry.frees, 1);
    if slot.strays_down(usable as i64) {
        slot.publish();
    }
}
