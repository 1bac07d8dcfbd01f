//! Counts blocks that take the cold path, when they are allocated and when they are freed.
use std::sync::atomic::Ordering;

use alloc_replay::{BlockSize, Counts, Event, ScopeId, TRACKER};
use alloc_timeline::Category;

use super::room;
use super::tagged::{self, FOLLOWED_MIN, Marks, Shape, TaggedBlock};
use crate::backend;
use crate::ledger::{self, Slot, publish, totals};
use crate::settings::{Mode, exact, mode};
use crate::stacks::{self, Sample};
use crate::tag::class;

/// Tags and counts a new block of `requested` bytes at an alignment, a power of two, which is 1 for the natural one. Does nothing for null.
/// Returns the block, or the one to which a sample has moved it.
#[must_use]
pub fn allocated(block: *mut u8, alignment: usize, requested: usize) -> *mut u8 {
    if block.is_null() || mode() == Mode::Off || !backend::is_settled() {
        return block;
    }
    let by_class = if backend::has_classes() { class::usable_aligned(alignment, requested) } else { None };
    // SAFETY: the backend has handed out the block just now, and the caller has not passed it on yet.
    let usable = by_class.unwrap_or_else(|| unsafe { backend::usable(block, requested) });
    allocated_sized(block, BlockSize { usable: usable as u64, requested: requested as u64 })
}

/// Gives back `block`. But if that is null, because the backend has no memory, and the calling thread runs as the tracker,
/// it gives a zeroed block of the tracker's spare memory (`recorder/spare.rs`). `alignment` is 0 for the natural one.
///
/// The tracker's own code needs each block that it asks for: without, the standard library ends the process, and with it a
/// program that may bear it that there is no memory.
///
/// # Safety
/// `alignment` must be 0 or a power of two.
pub unsafe fn or_spare(block: *mut u8, alignment: usize, size: usize) -> *mut u8 {
    if !block.is_null() || mode() == Mode::Off || !ledger::is_tracker() {
        return block;
    }
    // SAFETY: as the caller promises.
    unsafe { backend::spare(alignment, size) }
}

/// Tags and counts a new block of known size, while the tracker is on. Returns what [`allocated`] does.
#[must_use]
pub fn allocated_sized(block: *mut u8, size: BlockSize) -> *mut u8 {
    if block.is_null() {
        return block;
    }
    let slot = ledger::acquire();
    let scope = slot.map_or_else(ledger::scope_without_slot, Slot::scope);
    if stacks::is_due(slot, size.usable, scope) {
        return sampled(slot, block, size, scope);
    }
    tag_and_count(slot, block, size, scope, Arrival::Allocated, false);
    block
}

/// Samples, tags and counts a new block. Returns the block, or the one that it has moved to.
pub fn sampled(slot: Option<&Slot>, block: *mut u8, size: BlockSize, scope: ScopeId) -> *mut u8 {
    let (block, held) = room::with_room(block, size);
    stacks::sample(slot, &Sample { block, bytes: size.usable, scope, fresh: true, can_follow: room::can_follow(held) });
    tag_and_count(slot, block, held, scope, Arrival::Allocated, true);
    block
}

/// Why a block is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The block is new.
    Allocated,
    /// The block was counted before; a realloc or a label has changed its size or its kind of tag.
    Adopted,
}

/// Tags a block that `scope` owns, and counts it there. `sampled`: whether the block is one whose calls are known.
pub fn tag_and_count(
    slot: Option<&Slot>,
    block: *mut u8,
    size: BlockSize,
    scope: ScopeId,
    arrival: Arrival,
    sampled: bool,
) {
    let announced = slot.and_then(Slot::take_announced);
    let natural = Shape::of(size);
    let is_wide = announced.is_some() || sampled && stacks::needs_wide_tags();
    let shape = if is_wide && size.usable >= FOLLOWED_MIN { Shape::Wide } else { natural };
    if !tagged::write(block, scope, size, shape, Marks { followed: false, sampled }) {
        totals::DROPPED_EVENTS.fetch_add(1, Ordering::Relaxed);
        if arrival == Arrival::Adopted {
            // Nobody will count its free: from here on it is none of the scope's blocks.
            let mut counts = Counts::take_over(size);
            counts += Counts::free(size);
            ledger::add(slot, scope, &counts);
        }
        return;
    }
    let scope = tagged::owner(scope, size);
    // A block whose tag is wide only because it is sampled is counted in batches, as it would be otherwise.
    let is_told = natural == Shape::Wide || announced.is_some() && shape == Shape::Wide;
    let ordered = (exact() || is_told) && scope != TRACKER;
    if ordered && tell_of(slot, block, size, scope, arrival, announced) {
        // This write cannot fail: the first one has mapped the entries.
        let _ = tagged::write(block, scope, size, shape, Marks { followed: true, sampled });
        return;
    }
    let counts = match arrival {
        Arrival::Allocated => Counts::allocation(size),
        Arrival::Adopted => Counts::take_over(size),
    };
    ledger::add(slot, scope, &counts);
}

/// Tells the recorder about a block by its address, with the block's category if that is known. `false` when no session
/// records.
#[must_use]
pub fn tell_of(
    slot: Option<&Slot>,
    block: *const u8,
    size: BlockSize,
    scope: ScopeId,
    arrival: Arrival,
    category: Option<Category>,
) -> bool {
    let address = block.addr() as u64;
    let op_call = op_call(slot);
    let event = match arrival {
        Arrival::Allocated => Event::Allocated { scope, address, size, op_call, category },
        Arrival::Adopted => Event::Adopted { scope, address, size, op_call, category },
    };
    publish::recording() && ledger::emit(slot, &event)
}

/// The number of the call of an outermost operator that runs on this thread; 0 when none runs.
fn op_call(slot: Option<&Slot>) -> u64 {
    slot.map_or(0, |slot| slot.op_call.load(Ordering::Relaxed))
}

/// Clears the tag of a block that is about to be freed, and counts the free.
pub fn freed(block: &TaggedBlock) {
    let slot = ledger::acquire();
    block.entries.clear();
    if block.sampled {
        stacks::freed(slot, block.address);
    }
    let &TaggedBlock { scope, size, .. } = block;
    if block.is_ordered() && publish::recording() {
        let address = block.address.addr() as u64;
        let freed_in = slot.map(Slot::scope);
        if ledger::emit(slot, &Event::Freed { scope, address, size, op_call: op_call(slot), freed_in }) {
            return;
        }
    }
    ledger::add(slot, scope, &Counts::free(size));
}
