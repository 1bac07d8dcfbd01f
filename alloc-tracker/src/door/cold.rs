//! The other ways: large blocks, odd alignments, tiny blocks on their way out, threads without a slot, strangers.
use super::backend;
use crate::event::{Event, Kind};
use crate::ledger::slot::{DEFAULT_SCOPE, Slot};
use crate::ledger::totals::{self, Counts};
use crate::ledger::{pool, publish};
use crate::mode::{Mode, mode};
use crate::sys::{self, next_free};
use crate::tag::block;
use crate::tag::class::{self, SMALL_MAX};
use crate::tag::scope::{OTHER_SCOPES, ScopeId, TRACKER};
use crate::tag::shadow::{self, Place, TINY};
use crate::tag::tiny;
use std::sync::atomic::Ordering;

/// The smallest block that the recorder can know by its address: its tag takes four entries.
pub const WIDE_MIN: usize = 64;

/// What a tag says of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Who allocated it.
    pub scope: ScopeId,
    /// Requested bytes.
    pub requested: usize,
    /// Whether the recorder knows it by its address.
    pub identified: bool,
    /// Usable bytes.
    pub usable: usize,
    /// Whether it came from a plain `malloc`, so that its size class follows from `requested`.
    pub plain: bool,
}

/// As [`super::hot::allocate`].
#[cold]
#[inline(never)]
pub fn allocate(size: usize) -> *mut u8 {
    let block = backend::malloc(size);
    count(block, size);
    block
}

/// Tags and counts a fresh block of `requested` bytes, whatever its size and alignment. Null is nothing.
pub fn count(block: *mut u8, requested: usize) {
    if block.is_null() || mode() == Mode::Off {
        return;
    }
    let slot = pool::acquire();
    let scope = slot.map_or_else(|| DEFAULT_SCOPE.load(Ordering::Relaxed), Slot::scope);
    tag(slot, block, requested, scope, Kind::Allocated);
}

/// Tags a block as `scope`'s and counts it: as a new allocation, or (`Kind::Adopted`) as one that was counted before.
pub fn tag(slot: Option<&Slot>, block: *mut u8, requested: usize, mut scope: ScopeId, kind: Kind) {
    // SAFETY: the block was handed out by the backend just now and nobody has freed it.
    let usable = unsafe { backend::usable(block) };
    let storage = slot.is_some_and(|slot| slot.storage.swap(0, Ordering::Relaxed) != 0);
    let plain = requested > 16 && is_plain(requested, usable);
    let mut identified = false;
    let tagged = if plain && !(storage && usable >= WIDE_MIN) {
        shadow::store_plain(block.addr(), scope, requested)
    } else if let Some(place) = shadow::find_or_map(block.addr()) {
        if tiny::is_tiny(requested, usable) {
            let tag = tiny::tag(scope, requested, usable);
            place.store(0, TINY | tag);
            if tiny::is_others(tag) {
                scope = OTHER_SCOPES;
            }
        } else {
            identified = scope != TRACKER && identify(slot, kind, block, scope, [usable, requested], storage);
            place.store_wide(scope, requested, identified);
        }
        true
    } else {
        false
    };
    if !tagged {
        totals::DROPPED_EVENTS.fetch_add(1, Ordering::Relaxed);
        return;
    }
    if !identified {
        let counts = match kind {
            Kind::Allocated => Counts { allocations: 1, ..Counts::default() },
            _ => Counts { moved_in: 1, ..Counts::default() },
        };
        let counts = Counts { allocated: usable as u64, requested: requested as u64, ..counts };
        add(slot, scope, &counts);
    }
}

/// Whether a block without a tag is ours all the same: one that came when the kernel refused room for its tag.
#[cold]
pub fn untagged(block: *const u8) -> bool {
    sys::refused() && backend::owns(block)
}

/// Tells the recorder of a block by its address, its usable and requested bytes, and whether it is a tensor's storage;
/// `false` when nobody records.
pub fn identify(
    slot: Option<&Slot>,
    kind: Kind,
    block: *mut u8,
    scope: ScopeId,
    [usable, requested]: [usize; 2],
    storage: bool,
) -> bool {
    let (a, b, c) = (block.addr() as u64, usable as u64, requested as u64);
    let d = slot.map_or(0, |slot| slot.op_call.load(Ordering::Relaxed));
    publish::recording() && publish::emit(slot, Event { kind, scope, a, b, c, d, e: storage.into(), time_ns: 0 })
}

/// Adds counts of the small lane, through the slot where there is one.
pub fn add(slot: Option<&Slot>, scope: ScopeId, counts: &Counts) {
    match slot {
        Some(slot) => slot.add(scope, counts),
        None => publish::delta(None, scope, counts),
    }
}

/// Whether a block is one of the size class that its request asks for at natural alignment.
pub fn is_plain(requested: usize, usable: usize) -> bool {
    requested <= SMALL_MAX && usable == class::usable(requested)
}

/// The tag of the live block that starts at `block`, with its usable size, and where it stands; `None` for addresses at
/// which none of ours starts.
pub fn find(block: *const u8) -> Option<(Place, Tag)> {
    let (place, found) = block::find(block.addr())?;
    // SAFETY: a tagged block is live (tags are cleared before the block goes back) and of this backend.
    let usable = || unsafe { backend::usable(block) };
    let (requested, usable, identified) = match found {
        block::Tag::Tiny(tiny) => (tiny.requested, tiny.usable, false),
        block::Tag::Plain(_, requested) => (requested, usable(), false),
        block::Tag::Wide(_, requested, identified) => (requested, usable(), identified),
    };
    let plain = is_plain(requested, usable);
    Some((place, Tag { scope: found.scope(), requested, identified, usable, plain }))
}

/// As [`super::hot::release`].
///
/// # Safety
/// As for [`super::hot::release`].
#[cold]
#[inline(never)]
pub unsafe fn release(block: *mut u8) {
    if block.is_null() {
        return;
    }
    if mode() == Mode::Off {
        // SAFETY: as the caller promises; with tracking off every block is the backend's.
        return unsafe { backend::free(block) };
    }
    let Some((place, tag)) = find(block) else {
        if untagged(block) {
            // SAFETY: the caller may free the block, and it is the backend's.
            return unsafe { backend::free(block) };
        }
        totals::FOREIGN_FREES.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the block is live and not ours: it came from the allocator that would answer without us.
        return unsafe { next_free(block) };
    };
    let slot = pool::acquire();
    untag(slot, place, block, &tag);
    // SAFETY: the caller may free the block, and its tag says that it is the backend's.
    unsafe {
        if tag.plain && tag.requested > 0 { backend::free_sized(block, tag.requested) } else { backend::free(block) }
    }
}

/// Takes the tag off a block that is about to be freed, and counts the free.
fn untag(slot: Option<&Slot>, place: Place, block: *mut u8, tag: &Tag) {
    place.clear();
    if tag.identified {
        let call = slot.map_or(0, |slot| slot.op_call.load(Ordering::Relaxed));
        let (a, b, c) = (block.addr() as u64, tag.usable as u64, tag.requested as u64);
        let e = slot.map_or(0, |slot| u64::from(slot.scope()) + 1);
        let event = Event { kind: Kind::Freed, scope: tag.scope, a, b, c, d: call, e, ..Event::default() };
        if publish::recording() && publish::emit(slot, event) {
            return;
        }
    }
    let (freed, requested_freed) = (tag.usable as u64, tag.requested as u64);
    add(slot, tag.scope, &Counts { freed, requested_freed, frees: 1, ..Counts::default() });
}
