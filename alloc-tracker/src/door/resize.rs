//! realloc: the block keeps its first owner, and only the change is counted.
//!
//! The old tag is taken before the backend may move the block, and put back when the backend refuses. A block that the
//! recorder knows by its address is announced twice, before and after, because in between its old address may already
//! be somebody else's.
use std::sync::atomic::Ordering;

use super::cold::{self, Tag};
use super::{backend, jemalloc};
use crate::event::{Event, Kind};
use crate::ledger::entry::bump;
use crate::ledger::slot::Slot;
use crate::ledger::totals::{self, Counts};
use crate::ledger::{pool, publish};
use crate::mode::{Mode, mode};
use crate::stacks;
use crate::sys::next_realloc;
use crate::tag::block;
use crate::tag::class::{self, SMALL_MAX};
use crate::tag::shadow::{self, Place};

/// Resizes `block` to `size` bytes; `alignment` is kept where it is more than the natural one (0: natural). Null when
/// there is no memory: the block then stays as it was.
///
/// # Safety
/// `block` is a live block that the caller may free; `size` is not 0.
pub unsafe fn resize(block: *mut u8, alignment: usize, size: usize) -> *mut u8 {
    // SAFETY: as the caller promises.
    let really = |block: *mut u8| unsafe {
        if alignment == 0 { backend::realloc(block, size) } else { backend::realloc_aligned(block, alignment, size) }
    };
    if mode() == Mode::Off {
        return really(block);
    }
    let Some((place, old)) = cold::find(block) else {
        if cold::untagged(block) {
            return really(block);
        }
        totals::FOREIGN_FREES.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the block is live and not ours: it came from the allocator that would answer without us.
        return unsafe { next_realloc(block, size) };
    };
    // SAFETY: `resized` is live: it is what the backend gave just now.
    recount(block, (place, old), size, really, |resized| unsafe { backend::usable(resized, size) })
}

/// Has `really` resize `block`, which has this tag, to `size` bytes, and counts the change; `usable` tells how many bytes
/// the resized block has.
pub fn recount(
    block: *mut u8,
    (place, old): (Place, Tag),
    size: usize,
    really: impl FnOnce(*mut u8) -> *mut u8,
    usable: impl FnOnce(*mut u8) -> usize,
) -> *mut u8 {
    let slot = pool::acquire();
    match slot {
        Some(slot) => bump(&slot.resized, 1),
        None => _ = totals::REALLOCATIONS.fetch_add(1, Ordering::Relaxed),
    }
    let sampled = stacks::take(slot, block);
    let token = take(slot, place, block, &old);
    let resized = really(block);
    if resized.is_null() {
        // The block is untouched, and so is what its tag said of its size.
        stacks::put(slot, sampled, block, [old.usable; 2], old.scope);
        put(slot, token, block, [old.usable, old.requested], &old);
    } else {
        let usable = usable(resized);
        stacks::put(slot, sampled, resized, [old.usable, usable], old.scope);
        put(slot, token, resized, [usable, size], &old);
    }
    resized
}

/// Takes the tag off. Gives the token under which the recorder keeps an identified block meanwhile; 0 without one.
fn take(slot: Option<&Slot>, place: Place, block: *mut u8, old: &Tag) -> u64 {
    place.clear();
    if old.ordered() {
        let token = publish::token();
        let (a, b, c) = (block.addr() as u64, old.usable as u64, old.requested as u64);
        let event = Event { kind: Kind::Taken, scope: old.scope, a, b, c, e: token, ..Event::default() };
        if publish::recording() && publish::emit(slot, event) {
            return token;
        }
    }
    leave_small_lane(slot, old);
    0
}

/// Takes a block's bytes out of the small lane's counts; it is not freed, it comes back by another way.
pub fn leave_small_lane(slot: Option<&Slot>, tag: &Tag) {
    let counts = Counts {
        allocated: (tag.usable as u64).wrapping_neg(),
        requested: (tag.requested as u64).wrapping_neg(),
        moved_in: 1u64.wrapping_neg(),
        ..Counts::default()
    };
    cold::add(slot, tag.scope, &counts);
}

/// The bytes by which a block has shrunk were allocated once, and are freed now.
fn count_shrinking(slot: Option<&Slot>, old: &Tag, usable: usize, requested: usize) {
    let freed = old.usable.saturating_sub(usable) as u64;
    let requested_freed = old.requested.saturating_sub(requested) as u64;
    if freed | requested_freed != 0 {
        let counts =
            Counts { allocated: freed, freed, requested: requested_freed, requested_freed, ..Counts::default() };
        cold::add(slot, old.scope, &counts);
    }
}

/// Puts the tag on again.
fn put(slot: Option<&Slot>, token: u64, block: *mut u8, sizes: [usize; 2], old: &Tag) {
    let [usable, requested] = sizes;
    let event = Event { kind: Kind::Put, scope: old.scope, e: token, ..Event::default() };
    let known = Event { a: block.addr() as u64, b: usable as u64, c: requested as u64, ..event };
    if token != 0 {
        if cold::retag(block, old.scope, sizes, || publish::emit(slot, known)) {
            return;
        }
        // Too small for an identity now: it goes on in the small lane.
        let gone = publish::emit(slot, event);
        debug_assert!(gone || !publish::recording());
    }
    count_shrinking(slot, old, usable, requested);
    cold::tag(slot, block, sizes, old.scope, Kind::Adopted);
}

/// [`resize`] for the common case: a small plain block that stays one. `None`: not that case. `SIZED` as in [`super::hot`].
///
/// # Safety
/// As for [`resize`].
#[inline]
pub unsafe fn resize_small<const SIZED: bool>(block: *mut u8, size: usize) -> Option<*mut u8> {
    let slot = pool::lane().is_open().then(pool::acquire).flatten()?;
    let (place, block::Tag::Plain(scope, old)) = block::find(block.addr())? else { return None };
    if !(17..=SMALL_MAX).contains(&size) {
        return None;
    }
    let layer = |size| if SIZED { shadow::layer_of(size) } else { shadow::FINE };
    place.clear();
    // SAFETY: as the caller promises.
    let resized = unsafe { jemalloc::realloc(block, size) };
    // Where there was a tag before there is memory for it.
    if resized.is_null() {
        let _ = shadow::store_plain(block.addr(), scope, old, layer(old));
        return Some(resized);
    }
    bump(&slot.resized, 1);
    let (before, after) = (class::usable(old) as u64, class::usable(size) as u64);
    if shadow::store_plain(resized.addr(), scope, size, layer(size)) {
        slot.add_resized(scope, [before, after], [old as u64, size as u64]);
    } else {
        let counts = Counts { freed: before, requested_freed: old as u64, frees: 1, ..Counts::default() };
        slot.add(scope, &counts);
    }
    Some(resized)
}
