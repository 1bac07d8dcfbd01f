//! The hot path of frees, as `hot.rs` is that of allocations.
use super::cold;
use crate::backend::jemalloc;
use crate::ledger::{self, Lane};
use crate::sys::begin_at_cache_line;
use crate::tag::block::{self, Tag};
use crate::tag::entries::{ShadowRef, TINY};
use crate::tag::shadow::{self, SHORTEST_BLOCK};
use crate::tag::tiny::{self, TINY_MAX};
use crate::tag::word::{self, SMALL_MAX};
use crate::tag::{class, page_bins};

/// Frees a block of any origin, or does nothing for null.
///
/// # Safety
/// `block` is null or a live block that the caller may free.
#[inline(always)]
pub unsafe fn release(block: *mut u8) {
    begin_at_cache_line();
    let lane = ledger::lane();
    // SAFETY: a live block lies where the kernel maps memory for programs, below 2^48; so does null.
    if let Some(entries) = unsafe { shadow::find_plain_by_address(block.addr()) }
        && lane.frees(entries.load(0))
    {
        let size = entries.plain_size();
        entries.clear_plain();
        // SAFETY: the request of a plain block is at most SMALL_MAX.
        let amount = unsafe { class::amount_of_class(size) } + size as u64;
        // SAFETY: the caller may free the block, its tag is cleared, and the lane counts the frees of its scope.
        return unsafe { count_and_free::<false>(lane, block, amount, size) };
    }
    // SAFETY: as the caller promises.
    unsafe { release_other(block) }
}

/// [`release`] for a block whose requested size is known. Nothing but a comparison waits for the tag: what is counted, and
/// where the block goes, follows from the size. (The tag would tell as well. But it is often in no cache, and each free would then
/// wait for the tag of the one before.)
///
/// # Safety
/// As for [`release`]; `size` must be the requested bytes of the block.
// This is not inlined: inlined into a program's loop over its data, it keeps the processor from reading ahead in that
// loop. (Dropping a tree of 160,000 JSON records took 20 % longer.)
#[inline(never)]
pub unsafe extern "C" fn release_sized(block: *mut u8, size: usize) {
    begin_at_cache_line();
    // Tiny blocks are told from plain ones by their size, which is known at once. A branch on their tag, mispredicted, would
    // cost much.
    // SAFETY: as the caller promises; each function gets sizes that it takes.
    unsafe {
        if size <= TINY_MAX {
            if size <= SHORTEST_BLOCK {
                release_tiny::<SHORTEST_BLOCK>(block, size)
            } else {
                release_tiny::<TINY_MAX>(block, size)
            }
        } else if size <= SMALL_MAX {
            release_plain(block, size)
        } else {
            release_other(block)
        }
    }
}

/// [`release_sized`] for sizes whose blocks have `USABLE` bytes, 8 or 16.
///
/// # Safety
/// As for [`release_sized`].
#[inline(always)]
unsafe fn release_tiny<const USABLE: usize>(block: *mut u8, size: usize) {
    let lane = ledger::lane();
    // SAFETY: a live block lies where the kernel maps memory for programs, below 2^48.
    if let Some(entries) = unsafe { shadow::find_tiny::<USABLE>(block.addr()) }
        // SAFETY: the size is at most TINY_MAX.
        && unsafe { lane.frees_tiny(entries.load(0), size) }
    {
        entries.store(0, 0);
        let amount = const { word::amount(USABLE, 0) } + size as u64;
        if lane.add_freed(amount) {
            // SAFETY: the caller may free the block, and its tag is cleared.
            return unsafe { empty_lane_and_free(block, size) };
        }
        // SAFETY: as above. The tag says that the block has the class of `size`.
        return unsafe { free_counted(lane, block, size, const { class::place_of_tiny(USABLE) }) };
    }
    // SAFETY: as the caller promises.
    unsafe { release_other(block) }
}

/// [`release_sized`] for sizes of 17 to [`SMALL_MAX`] bytes.
///
/// # Safety
/// As for [`release_sized`].
#[inline(always)]
unsafe fn release_plain(block: *mut u8, size: usize) {
    let lane = ledger::lane();
    // SAFETY: the caller promises a size of at most SMALL_MAX.
    let amount = unsafe { class::amount_of_class(size) };
    // SAFETY: a live block lies where the kernel maps memory for programs, below 2^48.
    if let Some(entries) = unsafe { shadow::find_plain(block.addr(), amount as u32) }
        && lane.frees(entries.load(0))
    {
        debug_assert_eq!(entries.plain_size(), size, "a free with a size that was not requested");
        entries.clear_plain();
        // SAFETY: the caller may free the block, its tag is cleared, and the lane counts the frees of its scope.
        return unsafe { count_and_free::<true>(lane, block, amount + size as u64, size) };
    }
    // SAFETY: as the caller promises.
    unsafe { release_other(block) }
}

/// Counts a free and frees the block. `amount` is what the block added to a count word when it was allocated. `SIZED`: whether
/// `size` was known without the block's tag.
///
/// # Safety
/// The caller may free `block`, which came from `malloc` with a size of the class of `size`. Its tag is cleared, and
/// `lane` counts the frees of its scope.
#[inline(always)]
unsafe fn count_and_free<const SIZED: bool>(lane: &Lane, block: *mut u8, amount: u64, size: usize) {
    if lane.add_freed(amount) {
        // SAFETY: as the caller promises.
        return unsafe { empty_lane_and_free(block, size) };
    }
    // SAFETY: as the caller promises.
    unsafe {
        let place = class::place_of_class(size);
        free_counted(lane, block, size, if SIZED { place } else { page_bins::known_early(block.addr(), place) })
    }
}

/// Frees a block that is counted. `place`: where the cache has the blocks of its class ([`class::place_of_class`]).
///
/// # Safety
/// As for [`jemalloc::free_sized`]; `lane` must be the calling thread's, and `size` at most [`SMALL_MAX`].
#[inline(always)]
unsafe fn free_counted(lane: &Lane, block: *mut u8, size: usize, place: u8) {
    // SAFETY: the caller promises the size and the lane, and a block of its class.
    unsafe {
        if !lane.cache().give(place, block) {
            free_by_call(block, size);
        }
    }
}

/// [`free_counted`] when the thread's cache has no room for the block.
///
/// # Safety
/// As for [`free_counted`].
#[inline(never)]
unsafe extern "C" fn free_by_call(block: *mut u8, size: usize) {
    ledger::lane().called_for_free(class::usable(size));
    // SAFETY: as the caller promises.
    unsafe { jemalloc::free_sized(block, size) }
}

/// Empties the calling thread's lane, and frees the block.
///
/// # Safety
/// As for [`free_counted`].
#[cold]
#[inline(never)]
unsafe extern "C" fn empty_lane_and_free(block: *mut u8, size: usize) {
    ledger::empty_lane();
    // SAFETY: as the caller promises.
    unsafe { free_counted(ledger::lane(), block, size, class::place_of_class(size)) }
}

/// [`release`] for tiny blocks, and for all blocks but plain ones of the scope whose frees the lane counts.
///
/// # Safety
/// As for [`release`].
#[inline(never)]
unsafe extern "C" fn release_other(block: *mut u8) {
    let lane = ledger::lane();
    // Tiny blocks are by far the most frequent ones that come here.
    // SAFETY: a live block lies where the kernel maps memory for programs, below 2^48; so does null.
    let [shortest, fine] =
        unsafe { [shadow::find_tiny::<SHORTEST_BLOCK>(block.addr()), shadow::find_tiny::<TINY_MAX>(block.addr())] };
    let is_tiny = |entries: &ShadowRef| entries.load(0) & TINY != 0;
    if let Some(entries) = fine.filter(is_tiny).or_else(|| shortest.filter(is_tiny)) {
        let tiny = tiny::pair(entries.load(0));
        if lane.frees(tiny.scope + 1) {
            entries.store(0, 0);
            // The block's usable size serves as a requested size of its class.
            // SAFETY: the caller may free the block, its tag is cleared, and the lane counts the frees of its scope.
            return unsafe {
                count_and_free::<false>(lane, block, word::amount(tiny.usable, tiny.requested), tiny.usable)
            };
        }
    }
    // SAFETY: as the caller promises.
    unsafe { if lane.is_open() { release_of_another(block) } else { cold::release(block) } }
}

/// [`release`] for blocks of another scope than the one whose frees the lane counts, for blocks whose tag is in another
/// layer than the hot path looked at, and for all blocks that take the cold path. The lane now counts the frees of the
/// block's scope, because further blocks of that scope are likely to be freed next.
///
/// # Safety
/// As for [`release`].
#[inline(never)]
unsafe extern "C" fn release_of_another(block: *mut u8) {
    let found = block::find(block.addr());
    if let Some((_, tag @ (Tag::Tiny(_) | Tag::Plain(..)))) = found
        && !ledger::lane().frees(tag.scope() + 1)
    {
        ledger::gather_frees_of(tag.scope());
    }
    let lane = ledger::lane();
    match found {
        Some((entries, Tag::Plain(scope, size))) if lane.frees(scope + 1) => {
            entries.clear();
            // SAFETY: the request of a plain block is at most SMALL_MAX.
            let amount = unsafe { class::amount_of_class(size) } + size as u64;
            // SAFETY: the caller may free the block, its tag is cleared, and the lane counts the frees of its scope.
            unsafe { count_and_free::<false>(lane, block, amount, size) }
        }
        // The call finds the tag once more, and now the lane counts the frees of its scope.
        // SAFETY: as the caller promises.
        Some((_, Tag::Tiny(tiny))) if lane.frees(tiny.scope + 1) => unsafe { release_other(block) },
        // SAFETY: as the caller promises.
        _ => unsafe { cold::release(block) },
    }
}
