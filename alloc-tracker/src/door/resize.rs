//! realloc: the block keeps its first owner, and only the change in size is counted.
//!
//! The old tag is cleared before the backend may move the block, and written again when the backend refuses. A block
//! that the recorder follows by its address makes two events, one before and one after, because in between its old
//! address may already belong to another block.
use std::sync::atomic::Ordering;

use alloc_replay::{BlockSize, Counts, Event, ScopeId, TRACKER};

use super::count::{self, Arrival};
use super::room;
use super::tagged::{self, FOLLOWED_MIN, Marks, Shape, TaggedBlock};
use crate::backend::{self, jemalloc};
use crate::ledger::{self, Slot, publish, totals};
use crate::settings::{Mode, exact, mode};
use crate::stacks::{self, Sample};
use crate::sys::next_realloc;
use crate::tag::block::{self, Tag};
use crate::tag::word::{self, SMALL_MAX};
use crate::tag::{class, shadow};

/// Resizes `block` to `size` bytes. `alignment` is the one to keep; 0 for the natural one. Null when there is no
/// memory: the block then stays as it was.
///
/// # Safety
/// `block` is a live block that the caller may free; `size` is not 0.
pub unsafe fn resize(block: *mut u8, alignment: usize, size: usize) -> *mut u8 {
    // SAFETY: as the caller promises. The closure is called only for blocks that are the backend's.
    let resize_block = |block: *mut u8| unsafe {
        if alignment == 0 { backend::realloc(block, size) } else { backend::realloc_aligned(block, alignment, size) }
    };
    if mode() == Mode::Off {
        return resize_block(block);
    }
    let Some(tagged) = TaggedBlock::find(block) else {
        if tagged::is_untagged(block) {
            return resize_block(block);
        }
        totals::FOREIGN_FREES.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the block is live and has no tag, so it is not the backend's: it came from the next allocator.
        return unsafe { next_realloc(block, size) };
    };
    // SAFETY: `resized` is live: the backend has returned it just now.
    recount(&tagged, size, resize_block, |resized| unsafe { backend::usable(resized, size) })
}

/// Calls `resize_block` to resize `block` to `requested` bytes, and counts the change. `usable` returns the usable
/// bytes of the resized block. Returns what `resize_block` returned.
pub fn recount(
    block: &TaggedBlock,
    requested: usize,
    resize_block: impl FnOnce(*mut u8) -> *mut u8,
    usable: impl FnOnce(*mut u8) -> usize,
) -> *mut u8 {
    let slot = ledger::acquire();
    match slot {
        Some(slot) => slot.count_resize(block.scope),
        None if block.scope != TRACKER => _ = totals::REALLOCATIONS.fetch_add(1, Ordering::Relaxed),
        None => {}
    }
    let sample = stacks::resize_begins(slot, block.address);
    let token = take_tag(slot, block);
    let resized = resize_block(block.address);
    // If the backend has refused, the block is as it was.
    let (address, size) = if resized.is_null() {
        (block.address, block.size)
    } else {
        (resized, BlockSize { usable: usable(resized) as u64, requested: requested as u64 })
    };
    // The bytes by which it has grown are sampled like a new block of that size.
    let (before, after) = (room::unmoved_bytes(block.size), size.usable);
    let grown = after.saturating_sub(before);
    let is_due = grown > 0 && stacks::is_due(slot, grown, block.scope);
    let sampled = is_due || sample != 0;
    let moves = sampled && !resized.is_null();
    let (address, size) = if moves { room::with_room(address, size) } else { (address, size) };
    let can_follow = room::can_follow(size);
    stacks::resize_ended(slot, sample, address, [before, after], can_follow);
    if is_due {
        stacks::sample(slot, &Sample { block: address, bytes: grown, scope: block.scope, fresh: false, can_follow });
    }
    put_tag(slot, token, address, size, block, sampled);
    if resized.is_null() { resized } else { address }
}

/// Clears the tag. Returns the token under which the replay keeps the block meanwhile; 0 for a block that makes no
/// events of its own.
fn take_tag(slot: Option<&Slot>, block: &TaggedBlock) -> u64 {
    block.entries.clear();
    let &TaggedBlock { scope, size, .. } = block;
    if block.is_ordered() {
        let token = publish::token();
        let event = Event::ResizeBegan { scope, address: block.address.addr() as u64, size, token };
        if publish::recording() && ledger::emit(slot, &event) {
            return token;
        }
    }
    // The block is counted again by `put_tag`, as an adopted one.
    ledger::add(slot, scope, &-Counts::take_over(size));
    0
}

/// Tags and counts the resized block, which was `old` before. `sampled`: whether it is followed as one whose calls are known.
fn put_tag(slot: Option<&Slot>, token: u64, block: *mut u8, size: BlockSize, old: &TaggedBlock, sampled: bool) {
    if token != 0 {
        let event = |address| Event::ResizeEnded { address, size, token };
        if retag(block, old.scope, size, sampled, || ledger::emit(slot, &event(Some(block.addr() as u64)))) {
            return;
        }
        // The block is now too small to be followed: from now on it is counted in batches.
        let told = ledger::emit(slot, &event(None));
        debug_assert!(told || !publish::recording());
    }
    // The bytes by which the block has shrunk: `take_tag` has taken them back, but they were allocated, and are freed
    // now.
    let freed = old.size.usable.saturating_sub(size.usable);
    let requested_freed = old.size.requested.saturating_sub(size.requested);
    if freed | requested_freed != 0 {
        let counts =
            Counts { allocated: freed, freed, requested: requested_freed, requested_freed, ..Counts::default() };
        ledger::add(slot, old.scope, &counts);
    }
    count::tag_and_count(slot, block, size, old.scope, Arrival::Adopted, sampled);
}

/// Tags a resized block that the recorder follows. `announce` writes the event for the recorder and returns whether it
/// was written. `false` when the block is now too small to be followed.
fn retag(block: *mut u8, scope: ScopeId, size: BlockSize, sampled: bool, announce: impl FnOnce() -> bool) -> bool {
    let shape = if exact() { Shape::of(size) } else { Shape::Wide };
    let kept = if exact() { tagged::owner(scope, size) == scope } else { size.usable >= FOLLOWED_MIN };
    let written = kept && tagged::write(block, scope, size, shape, Marks { followed: false, sampled });
    if written && announce() {
        // This write cannot fail: the first one has mapped the entries.
        let _ = tagged::write(block, scope, size, shape, Marks { followed: true, sampled });
    }
    written
}

/// [`resize`] for the common case: a small plain block that stays a small plain block. `None` in all other cases, and where a sample
/// point may fall into the bytes by which it grows.
/// `SIZED`: whether the block's free will tell its size.
///
/// # Safety
/// As for [`resize`].
#[inline]
pub unsafe fn resize_small<const SIZED: bool>(block: *mut u8, size: usize) -> Option<*mut u8> {
    let slot = ledger::lane().is_open().then(ledger::acquire).flatten()?;
    let (entries, Tag::Plain(scope, old)) = block::find(block.addr())? else { return None };
    if !(17..=SMALL_MAX).contains(&size) {
        return None;
    }
    let [before, after] =
        [old, size].map(|bytes| BlockSize { usable: class::usable(bytes) as u64, requested: bytes as u64 });
    // A block that was sampled has a wide tag.
    if !stacks::grows_without_sample(slot, after.usable.saturating_sub(before.usable), scope) {
        return None;
    }
    let layer = |block: *mut u8, size| {
        if SIZED { word::layer_of(size) } else { shadow::layer_of_address(block.addr()) }
    };
    entries.clear();
    // SAFETY: as the caller promises.
    let resized = unsafe { jemalloc::realloc(block, size) };
    if resized.is_null() {
        // The block keeps its tag: there are entries for it already.
        let _ = shadow::store_plain::<SIZED>(block.addr(), scope, old, layer(block, old));
        return Some(resized);
    }
    slot.count_resize(scope);
    if shadow::store_plain::<SIZED>(resized.addr(), scope, size, layer(resized, size)) {
        slot.add(scope, &Counts::resize(before, after));
    } else {
        slot.add(scope, &Counts::free(before));
    }
    Some(resized)
}
