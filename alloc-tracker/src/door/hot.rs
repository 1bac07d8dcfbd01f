//! The way of nearly every allocation: a small block on a thread whose lane is open. Everything else branches off at the
//! first comparison that tells.
use super::cold;
use super::jemalloc as backend;
use crate::ledger::lane::{self, Lane};
use crate::ledger::pool;
use crate::tag::block::{self, Tag};
use crate::tag::class;
use crate::tag::scope::ScopeId;
use crate::tag::shadow::{self, TINY};
use crate::tag::tiny;

/// Allocates `size` bytes at the backend's natural alignment. Null and ENOMEM when there is no memory.
#[inline(always)]
pub fn allocate(size: usize) -> *mut u8 {
    if !pool::lane().takes(size) {
        return allocate_unlike(size);
    }
    let block = backend::malloc(size);
    // The lane is looked up again, which is cheaper than to keep it over the call.
    count_plain(pool::lane(), block, size)
}

/// Tags and counts a fresh block of a size that `lane` takes, and gives it back.
#[inline(always)]
fn count_plain(lane: &Lane, block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the block's address is one that the kernel gave. Null, when there is no memory, has no place.
    let Some(place) = (unsafe { shadow::find_plain(block.addr(), size) }) else { return count_first(block, size) };
    place.store_plain(lane.tag(), size);
    // SAFETY: the lane takes no size above SMALL_MAX.
    if lane.add_allocated(unsafe { class::amount(size) }) {
        return gather_and_give(block);
    }
    block
}

/// The first block in its part of the address space, or none.
#[cold]
#[inline(never)]
fn count_first(block: *mut u8, size: usize) -> *mut u8 {
    cold::count(block, size);
    block
}

#[cold]
#[inline(never)]
fn gather_and_give(block: *mut u8) -> *mut u8 {
    pool::gather();
    block
}

/// [`allocate`] for tiny blocks, large ones, and threads whose lane is closed.
#[inline(never)]
fn allocate_unlike(size: usize) -> *mut u8 {
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
    if lane.add_allocated(unsafe { class::amount(size) }) {
        return gather_and_give(block);
    }
    block
}

/// [`allocate`], zeroed, for `count` times `size` bytes; pages of a large block that nobody has touched stay untouched.
#[inline]
pub fn allocate_zeroed(count: usize, size: usize) -> *mut u8 {
    if !pool::lane().is_open() {
        return cold::allocate_zeroed(count, size);
    }
    let block = backend::calloc(count, size);
    // Where the product overflows, the block is null and nothing is counted.
    let bytes = count.wrapping_mul(size);
    let lane = pool::lane();
    if lane.takes(bytes) { count_plain(lane, block, bytes) } else { count_first(block, bytes) }
}

/// Frees a block of whatever origin, or nothing for null.
///
/// # Safety
/// `block` is null or a live block that the caller may free.
#[inline(always)]
pub unsafe fn release(block: *mut u8) {
    let lane = pool::lane();
    // SAFETY: the block's address is one that the kernel gave; null has no place.
    if let Some(place) = unsafe { shadow::find_any_plain(block.addr()) }
        && lane.frees(place.tag())
    {
        let size = place.requested();
        place.clear();
        // SAFETY: the lane gathers the frees of this block's scope, and its tag tells its size.
        return unsafe { count_and_free(lane, block, size) };
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
    // SAFETY: as the caller promises.
    unsafe { if size <= 16 { release_tiny(block, size) } else { release_larger(block, size) } }
}

/// [`release_sized`] for more than 16 bytes.
///
/// # Safety
/// As for [`release_sized`].
// Not inlined: what is inlined into a program's loops over its data keeps the processor from reading ahead in them. (A
// tree of 160,000 JSON records was dropped 20 % slower.)
#[inline(never)]
unsafe fn release_larger(block: *mut u8, size: usize) {
    let lane = pool::lane();
    // SAFETY: the block's address is one that the kernel gave.
    if let Some(place) = unsafe { shadow::find_plain(block.addr(), size) }
        && lane.frees(place.load(0))
    {
        debug_assert_eq!(usize::from(place.load(1)), size, "a free with a size that was not asked for");
        place.clear_plain();
        // SAFETY: the lane gathers the frees of this block's scope; the size is the block's, as the caller promises. That
        // it does not come from the tag spares the backend the wait for it.
        return unsafe { count_and_free(lane, block, size) };
    }
    // SAFETY: as the caller promises.
    unsafe { release_unlike(block) }
}

/// [`release_sized`] for at most 16 bytes.
///
/// # Safety
/// As for [`release_sized`].
#[inline(never)]
unsafe fn release_tiny(block: *mut u8, size: usize) {
    let lane = pool::lane();
    // SAFETY: the block's address is one that the kernel gave.
    if let Some(place) = unsafe { shadow::find_fine(block.addr()) } {
        let first = place.load(0);
        if first & TINY != 0 && lane.frees(tiny::natural_scope_tag(first)) {
            place.store(0, 0);
            // SAFETY: the size is at most 16.
            if lane.add_freed(unsafe { class::amount(size) }) {
                // SAFETY: the block is of natural alignment and of this size.
                return unsafe { gather_and_free(block, size) };
            }
            // SAFETY: as above.
            return unsafe { backend::free_sized(block, size) };
        }
    }
    // SAFETY: as the caller promises.
    unsafe { release_unlike(block) }
}

/// # Safety
/// The caller may free `block`, which is plain, of `size` requested bytes, no longer tagged, and of the scope whose frees
/// `lane` gathers.
#[inline(always)]
unsafe fn count_and_free(lane: &Lane, block: *mut u8, size: usize) {
    // SAFETY: the size of a plain block is at most SMALL_MAX.
    if lane.add_freed(unsafe { class::amount(size) }) {
        // SAFETY: as the caller promises.
        return unsafe { gather_and_free(block, size) };
    }
    // SAFETY: the block came from `malloc` with a size of this class; the caller may free it.
    unsafe { backend::free_sized(block, size) }
}

/// # Safety
/// As for [`backend::free_sized`].
#[cold]
#[inline(never)]
unsafe fn gather_and_free(block: *mut u8, size: usize) {
    pool::gather();
    // SAFETY: as the caller promises.
    unsafe { backend::free_sized(block, size) }
}

/// [`release`] for tiny blocks, blocks of another scope than the last, and all others.
///
/// # Safety
/// As for [`release`].
#[inline(never)]
unsafe fn release_unlike(block: *mut u8) {
    let lane = pool::lane();
    if lane.is_open()
        && let Some((place, tag)) = block::find(block.addr())
        && !matches!(tag, Tag::Wide(..))
    {
        if !lane.frees(tag.scope() + 1) {
            // SAFETY: as the caller promises.
            return unsafe { release_after(block, tag.scope()) };
        }
        if let Tag::Tiny(tiny) = tag {
            place.clear();
            if lane.add_freed(lane::amount(tiny.usable, tiny.requested)) {
                // SAFETY: the caller may free the block, and its usable size is in its own class.
                return unsafe { gather_and_free(block, tiny.usable) };
            }
            // SAFETY: as above.
            return unsafe { backend::free_sized(block, tiny.usable) };
        }
    }
    // SAFETY: as the caller promises.
    unsafe { cold::release(block) }
}

/// [`release`] for a block of `scope`, whose frees the lane shall gather from now on.
///
/// # Safety
/// As for [`release`].
#[inline(never)]
unsafe fn release_after(block: *mut u8, scope: ScopeId) {
    pool::gather_frees_of(scope);
    // SAFETY: as the caller promises.
    unsafe { release(block) }
}
