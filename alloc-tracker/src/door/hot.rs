//! The way of nearly every allocation: a small block on a thread whose lane is open. Everything else branches off at the
//! first comparison that tells, into functions that are `extern "C"`: they do not unwind, so that nothing has to be kept
//! over them.
use super::cold;
use super::jemalloc as backend;
use crate::ledger::lane::{self, Lane};
use crate::ledger::pool;
use crate::tag::block::{self, Tag};
use crate::tag::class::{self, SMALL_MAX};
use crate::tag::shadow::{self, FINE, TINY};
use crate::tag::tiny;

/// The layer of the tags of plain blocks of which `amount` is [`class::amount_of_class`]. (Of a layer the lowest six bits
/// count.) `SIZED`: whether the blocks' frees will tell their size, as those through Rust's door do.
#[inline(always)]
pub fn layer<const SIZED: bool>(amount: u64) -> u32 {
    if SIZED { amount as u32 } else { FINE }
}

/// Allocates `size` bytes at the backend's natural alignment. Null and ENOMEM when there is no memory.
#[inline(always)]
pub fn allocate<const SIZED: bool>(size: usize) -> *mut u8 {
    if !pool::lane().takes(size) {
        return allocate_unlike(size);
    }
    let block = backend::malloc(size);
    // The lane is looked up again, which is cheaper than to keep it over the call.
    count_plain::<SIZED>(pool::lane(), block, size)
}

/// Tags and counts a fresh block of a size that `lane` takes, and gives it back.
#[inline(always)]
fn count_plain<const SIZED: bool>(lane: &Lane, block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the lane takes no size above SMALL_MAX.
    let amount = unsafe { class::amount_of_class(size) };
    // SAFETY: the block's address is one that the kernel gave. Null, when there is no memory, has no place.
    let place = unsafe { shadow::find_plain(block.addr(), layer::<SIZED>(amount)) };
    let Some(place) = place else { return count_first(block, size) };
    place.store_plain(lane.tag(), size);
    if lane.add_allocated(amount + size as u64) {
        return gather_and_give(block);
    }
    block
}

/// The first block in its part of the address space, or none.
#[cold]
#[inline(never)]
extern "C" fn count_first(block: *mut u8, size: usize) -> *mut u8 {
    cold::count(block, size);
    block
}

#[cold]
#[inline(never)]
extern "C" fn gather_and_give(block: *mut u8) -> *mut u8 {
    pool::gather();
    block
}

/// [`allocate`] for tiny blocks, large ones, and threads whose lane is closed.
#[inline(never)]
extern "C" fn allocate_unlike(size: usize) -> *mut u8 {
    if size > 16 || !pool::lane().is_open() {
        return cold::allocate(size);
    }
    let block = backend::malloc(size);
    let lane = pool::lane();
    let Some(tag) = lane.tiny_tag(size) else { return count_first(block, size) };
    // SAFETY: the block's address is one that the kernel gave. Null, when there is no memory, has no place.
    let Some(place) = (unsafe { shadow::find_fine(block.addr()) }) else { return count_first(block, size) };
    place.store(0, TINY | tag);
    // SAFETY: the size is at most 16.
    if lane.add_allocated(unsafe { class::amount_of_class(size) } + size as u64) {
        return gather_and_give(block);
    }
    block
}

/// [`allocate`], zeroed, for `count` times `size` bytes; pages of a large block that nobody has touched stay untouched.
#[inline]
pub fn allocate_zeroed<const SIZED: bool>(count: usize, size: usize) -> *mut u8 {
    if !pool::lane().is_open() {
        return cold::allocate_zeroed(count, size);
    }
    let block = backend::calloc(count, size);
    // Where the product overflows, the block is null and nothing is counted.
    let bytes = count.wrapping_mul(size);
    let lane = pool::lane();
    if lane.takes(bytes) { count_plain::<SIZED>(lane, block, bytes) } else { count_first(block, bytes) }
}

/// Frees a block of whatever origin, or nothing for null.
///
/// # Safety
/// `block` is null or a live block that the caller may free.
#[inline(always)]
pub unsafe fn release(block: *mut u8) {
    let lane = pool::lane();
    // SAFETY: the block's address is one that the kernel gave; null has no place.
    if let Some(place) = unsafe { shadow::find_plain(block.addr(), FINE) }
        && lane.frees(place.load(0))
    {
        let size = usize::from(place.load(1));
        place.clear_plain();
        // SAFETY: the request of a plain block is at most SMALL_MAX.
        let amount = unsafe { class::amount_of_class(size) } + size as u64;
        // SAFETY: the caller may free the block; it is no longer tagged, and its frees are gathered.
        return unsafe { count_and_free(lane, block, amount, size) };
    }
    // SAFETY: as the caller promises.
    unsafe { release_unlike(block) }
}

/// [`release`] for a block of which the requested size is known.
///
/// # Safety
/// As for [`release`]; `size` must be what was asked for.
#[inline(always)]
pub unsafe fn release_sized(block: *mut u8, size: usize) {
    // Tiny blocks branch off here, by what is known at once: where sizes are hard to predict, it costs much to find out
    // from a tag that has to be waited for.
    // SAFETY: as the caller promises.
    unsafe { if (17..=SMALL_MAX).contains(&size) { release_plain(block, size) } else { release_unlike(block) } }
}

/// [`release_sized`] for 17 to [`SMALL_MAX`] bytes.
///
/// # Safety
/// As for [`release_sized`].
// Not inlined: what is inlined into a program's loops over its data keeps the processor from reading ahead in them. (A
// tree of 160,000 JSON records was dropped 20 % slower.)
#[inline(never)]
unsafe extern "C" fn release_plain(block: *mut u8, size: usize) {
    let lane = pool::lane();
    // SAFETY: the size is at most SMALL_MAX.
    let amount = unsafe { class::amount_of_class(size) };
    // SAFETY: the block's address is one that the kernel gave.
    if let Some(place) = unsafe { shadow::find_plain(block.addr(), layer::<true>(amount)) }
        && lane.frees(place.load(0))
    {
        debug_assert_eq!(usize::from(place.load(1)), size, "a free with a size that was not asked for");
        place.clear_plain();
        // That the size does not come from the tag spares the backend the wait for it.
        // SAFETY: the caller may free the block; it is no longer tagged, and its frees are gathered.
        return unsafe { count_and_free(lane, block, amount + size as u64, size) };
    }
    // SAFETY: as the caller promises.
    unsafe { release_unlike(block) }
}

/// # Safety
/// The caller may free `block`, which came from `malloc` with a size of the class of `size`; it is no longer tagged, and of
/// the scope whose frees `lane` gathers.
#[inline(always)]
unsafe fn count_and_free(lane: &Lane, block: *mut u8, amount: u64, size: usize) {
    if lane.add_freed(amount) {
        // SAFETY: as the caller promises.
        return unsafe { gather_and_free(block, size) };
    }
    // SAFETY: as the caller promises.
    unsafe { backend::free_sized(block, size) }
}

/// # Safety
/// As for [`backend::free_sized`].
#[cold]
#[inline(never)]
unsafe extern "C" fn gather_and_free(block: *mut u8, size: usize) {
    pool::gather();
    // SAFETY: as the caller promises.
    unsafe { backend::free_sized(block, size) }
}

/// [`release`] for tiny blocks, blocks of another scope than the last, and all others.
///
/// # Safety
/// As for [`release`].
#[inline(never)]
unsafe extern "C" fn release_unlike(block: *mut u8) {
    let lane = pool::lane();
    // Of all these, tiny blocks are by far the most common.
    // SAFETY: the block's address is one that the kernel gave; null has no place.
    if let Some(place) = unsafe { shadow::find_fine(block.addr()) }
        && place.load(0) & TINY != 0
    {
        let tiny = tiny::pair(place.load(0));
        if lane.frees(tiny.scope + 1) {
            place.store(0, 0);
            // The usable size is one of the block's own class.
            // SAFETY: the caller may free the block; it is no longer tagged, and its frees are gathered.
            return unsafe { count_and_free(lane, block, lane::amount(tiny.usable, tiny.requested), tiny.usable) };
        }
    }
    // SAFETY: as the caller promises.
    unsafe { if lane.is_open() { release_of_another(block) } else { cold::release(block) } }
}

/// [`release`] for blocks of another scope than the last, or with their tag in another layer than most, and all others.
///
/// # Safety
/// As for [`release`].
#[inline(never)]
unsafe extern "C" fn release_of_another(block: *mut u8) {
    let found = block::find(block.addr());
    if let Some((_, tag @ (Tag::Tiny(_) | Tag::Plain(..)))) = found
        && !pool::lane().frees(tag.scope() + 1)
    {
        pool::gather_frees_of(tag.scope());
    }
    let lane = pool::lane();
    match found {
        Some((place, Tag::Plain(scope, size))) if lane.frees(scope + 1) => {
            place.clear();
            // SAFETY: the request of a plain block is at most SMALL_MAX.
            let amount = unsafe { class::amount_of_class(size) } + size as u64;
            // SAFETY: the caller may free the block; it is no longer tagged, and its frees are gathered.
            unsafe { count_and_free(lane, block, amount, size) }
        }
        // SAFETY: as the caller promises; the tag is found once more, and the scope's frees are gathered now.
        Some((_, Tag::Tiny(tiny))) if lane.frees(tiny.scope + 1) => unsafe { release_unlike(block) },
        // SAFETY: as the caller promises.
        _ => unsafe { cold::release(block) },
    }
}
