//! The other ways: large blocks, odd alignments, tiny blocks on their way out, threads without a slot, strangers; and all
//! blocks in exact mode, and over another backend than jemalloc.
use super::backend;
use crate::event::{Event, Kind};
use crate::ledger::slot::Slot;
use crate::ledger::totals::{self, Counts};
use crate::ledger::{pool, publish};
use crate::mode::{Mode, exact, mode};
use crate::stacks;
use crate::sys::{self, next_free};
use crate::tag::block;
use crate::tag::class::{self, SMALL_MAX};
use crate::tag::scope::{OTHER_SCOPES, ScopeId, TRACKER};
use crate::tag::shadow::{self, LARGE_MIN, Place, TINY};
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

impl Tag {
    /// Whether what happens to the block is an event of its own.
    pub fn ordered(&self) -> bool {
        self.identified || exact() && self.scope != TRACKER
    }
}

/// The kinds of tags (see `tag/block.rs`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    Tiny,
    Wide,
}

/// As [`super::hot::allocate`].
#[cold]
#[inline(never)]
pub fn allocate(size: usize) -> *mut u8 {
    let block = backend::malloc(size);
    count(block, size);
    block
}

/// As [`super::hot::allocate_zeroed`].
#[cold]
#[inline(never)]
pub fn allocate_zeroed(count: usize, size: usize) -> *mut u8 {
    let block = backend::calloc(count, size);
    // Where the product overflows, the block is null and nothing is counted.
    self::count(block, count.wrapping_mul(size));
    block
}

/// Tags and counts a fresh block of `requested` bytes, whatever its size and alignment. Null is nothing.
pub fn count(block: *mut u8, requested: usize) {
    if block.is_null() || mode() == Mode::Off || !backend::settled() {
        return;
    }
    // SAFETY: the block was handed out by the backend just now and nobody has freed it.
    count_new(block, [unsafe { backend::usable(block, requested) }, requested]);
}

/// The same with tracking on, of a block of which the usable and requested bytes are known.
pub fn count_new(block: *mut u8, sizes: [usize; 2]) {
    if !block.is_null() {
        let slot = pool::acquire();
        let scope = slot.map_or_else(pool::scope_without_slot, Slot::scope);
        stacks::allocated(slot, block, sizes[0], scope);
        tag(slot, block, sizes, scope, Kind::Allocated);
    }
}

/// Tags a block of these usable and requested bytes as `scope`'s and counts it: as a new allocation, or (`Kind::Adopted`)
/// as one that was counted before.
pub fn tag(slot: Option<&Slot>, block: *mut u8, sizes: [usize; 2], scope: ScopeId, kind: Kind) {
    let storage = slot.is_some_and(|slot| slot.storage.swap(0, Ordering::Relaxed) != 0);
    let shape = if storage && sizes[0] >= WIDE_MIN { Shape::Wide } else { shape(sizes) };
    if !write(block, scope, sizes, shape, false) {
        totals::DROPPED_EVENTS.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let scope = owner(scope, sizes);
    let ordered = (exact() || shape == Shape::Wide) && scope != TRACKER;
    if ordered && identify(slot, kind, block, scope, sizes, storage) {
        write(block, scope, sizes, shape, true);
        return;
    }
    let counts = match kind {
        Kind::Allocated => Counts { allocations: 1, ..Counts::default() },
        _ => Counts { moved_in: 1, ..Counts::default() },
    };
    let [allocated, requested] = sizes.map(|bytes| bytes as u64);
    add(slot, scope, &Counts { allocated, requested, ..counts });
}

/// Whether a block without a tag is ours all the same: one that came when the kernel refused room for its tag.
#[cold]
pub fn untagged(block: *const u8) -> bool {
    sys::refused() && backend::owns(block)
}

/// How a block of these usable and requested bytes is tagged.
fn shape([usable, requested]: [usize; 2]) -> Shape {
    if backend::has_classes() {
        match (is_plain(requested, usable), tiny::is_tiny(requested, usable)) {
            (true, _) if requested > 16 => Shape::Plain,
            (_, true) => Shape::Tiny,
            _ => Shape::Wide,
        }
    } else if usable <= 16 {
        Shape::Tiny
    } else if requested <= SMALL_MAX {
        Shape::Plain
    } else {
        Shape::Wide
    }
}

/// The tag of a tiny block. A block over `Over` has what was requested, and its tag that of the class around it.
fn tiny_tag(scope: ScopeId, [usable, requested]: [usize; 2]) -> u16 {
    tiny::tag(scope, requested, usable.next_multiple_of(8).max(8))
}

/// Who the tag says that such a block belongs to: the numbers of tiny blocks' tags may be used up.
fn owner(scope: ScopeId, sizes: [usize; 2]) -> ScopeId {
    let others = shape(sizes) == Shape::Tiny && tiny::is_others(tiny_tag(scope, sizes));
    if others { OTHER_SCOPES } else { scope }
}

/// Writes a tag; `identified` says that the recorder knows the block by its address, which a wide tag alone can keep.
/// `false` when the kernel gives no memory for it.
fn write(block: *mut u8, scope: ScopeId, sizes: [usize; 2], shape: Shape, identified: bool) -> bool {
    let requested = sizes[1];
    if shape == Shape::Plain && backend::has_classes() {
        return shadow::store_plain(block.addr(), scope, requested, shadow::FINE);
    }
    let place = if shape == Shape::Wide { wide_place(block, sizes[0]) } else { shadow::find_or_map(block.addr()) };
    let Some(place) = place else { return false };
    match shape {
        Shape::Tiny => place.store(0, TINY | tiny_tag(scope, sizes)),
        // In the fine layer, whatever its size: other allocators put short blocks and long ones side by side.
        Shape::Plain => place.store_plain(scope + 1, requested),
        Shape::Wide => place.store_wide(scope, requested, identified),
    }
    true
}

/// Where a wide tag of a block of `usable` bytes stands. `None` when the kernel gives no memory for it.
pub fn wide_place(block: *const u8, usable: usize) -> Option<Place> {
    // Other allocators put large blocks and small ones into one page.
    let large = usable >= LARGE_MIN && backend::has_classes();
    if large { shadow::find_or_map_large(block.addr()) } else { shadow::find_or_map(block.addr()) }
}

/// Tags a block that was resized and that the recorder knows; `announce` tells it, and whether it took that in. `false`
/// when the block must go on without an event of its own.
pub fn retag(block: *mut u8, scope: ScopeId, sizes: [usize; 2], announce: impl FnOnce() -> bool) -> bool {
    let shape = if exact() { shape(sizes) } else { Shape::Wide };
    let kept = if exact() { owner(scope, sizes) == scope } else { sizes[0] >= WIDE_MIN };
    let written = kept && write(block, scope, sizes, shape, false);
    if written && announce() {
        write(block, scope, sizes, shape, true);
    }
    written
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
        Some(slot) if !exact() => slot.add(scope, counts),
        slot => publish::delta(slot, scope, counts),
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
    let usable = |requested| unsafe { backend::usable(block, requested) };
    let (requested, usable, identified) = match found {
        block::Tag::Tiny(tiny) if backend::over_counts() => (tiny.requested, tiny.requested, false),
        block::Tag::Tiny(tiny) => (tiny.requested, tiny.usable, false),
        block::Tag::Plain(_, requested) if backend::has_classes() => (requested, class::usable(requested), false),
        block::Tag::Plain(_, requested) => (requested, usable(requested), false),
        block::Tag::Wide(_, requested, identified) => (requested, usable(requested), identified),
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
        return unsafe { backend::free(block, false, 0) };
    }
    let Some((place, tag)) = find(block) else {
        if untagged(block) {
            // SAFETY: the caller may free the block, and it is the backend's.
            return unsafe { backend::free(block, false, 0) };
        }
        totals::FOREIGN_FREES.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the block is live and not ours: it came from the allocator that would answer without us.
        return unsafe { next_free(block) };
    };
    untag(pool::acquire(), place, block, &tag);
    // SAFETY: the caller may free the block, and its tag says that it is the backend's.
    unsafe { backend::free(block, tag.plain, tag.requested) }
}

/// Counts a block as freed that somebody else is about to free.
pub fn uncount(block: *mut u8) {
    if let Some((place, tag)) = find(block) {
        untag(pool::acquire(), place, block, &tag);
    }
}

/// Takes the tag off a block that is about to be freed, and counts the free.
fn untag(slot: Option<&Slot>, place: Place, block: *mut u8, tag: &Tag) {
    place.clear();
    stacks::freed(slot, block);
    if tag.ordered() {
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
