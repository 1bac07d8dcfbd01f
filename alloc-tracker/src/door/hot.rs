//! The hot path, which nearly every allocation and free takes: a small block, on a thread whose lane is open. Every
//! other block leaves this path at the first comparison that recognises it, by a call of a function that is `extern
//! "C"`. Such a function does not unwind, so that the compiler keeps no register over the call.
use super::{cold, sampled};
use crate::backend::jemalloc;
use crate::ledger::{self, Lane};
use crate::settings::sampling;
use crate::sys::begin_at_cache_line;
use crate::tag::class;
use crate::tag::shadow::{self, SHORTEST_BLOCK};
use crate::tag::tiny::TINY_MAX;
use crate::tag::word;

/// Allocates `size` bytes at the backend's natural alignment, through C's door. Null and ENOMEM when there is no memory.
#[inline(always)]
pub fn allocate(size: usize) -> *mut u8 {
    begin_at_cache_line();
    let lane = ledger::lane();
    if lane.takes(size) { allocate_plain::<false>(lane, size) } else { allocate_sized(size) }
}

/// [`allocate`] through Rust's door, and through C's for what the lane does not take. This is not inlined, so that a program's
/// functions, and the loops in which they allocate, are compiled nearly as they are over another allocator.
#[inline(never)]
pub extern "C" fn allocate_sized(size: usize) -> *mut u8 {
    begin_at_cache_line();
    let lane = ledger::lane();
    if size <= TINY_MAX {
        return if size <= SHORTEST_BLOCK {
            allocate_tiny::<SHORTEST_BLOCK>(lane, size)
        } else {
            allocate_tiny::<TINY_MAX>(lane, size)
        };
    }
    if lane.takes(size) { allocate_plain::<true>(lane, size) } else { cold::allocate(size) }
}

/// Allocates a size that `lane` takes.
#[inline(always)]
fn allocate_plain<const SIZED: bool>(lane: &Lane, size: usize) -> *mut u8 {
    // SAFETY: the lane takes no size above SMALL_MAX, and its cache is the calling thread's.
    match unsafe { lane.cache().take(class::place_of_class(size)) } {
        Some(block) => count_plain::<SIZED>(lane, block, size),
        None => allocate_by_call::<SIZED>(size),
    }
}

/// [`allocate_plain`] when the thread's cache has no block of it at hand.
#[inline(never)]
extern "C" fn allocate_by_call<const SIZED: bool>(size: usize) -> *mut u8 {
    let block = call_for_block(size);
    if block.is_null() {
        return count_first_of_lane(block, size);
    }
    count_plain::<SIZED>(ledger::lane(), block, size)
}

/// Has jemalloc hand out a block of at most [`SMALL_MAX`] bytes, which the calling thread's lane is to count.
fn call_for_block(size: usize) -> *mut u8 {
    let block = jemalloc::malloc(size);
    if !block.is_null() {
        ledger::lane().called_for_block(class::usable(size));
    }
    block
}

/// Tags and counts a new block of a size that `lane` takes, and returns it.
#[inline(always)]
fn count_plain<const SIZED: bool>(lane: &Lane, block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the lane takes no size above SMALL_MAX.
    let amount = unsafe { class::amount_of_class(size) };
    // SAFETY: the backend's blocks lie where the kernel maps memory for programs, below 2^48.
    let entries = unsafe {
        if SIZED {
            shadow::find_plain(block.addr(), amount as u32)
        } else {
            shadow::find_plain_by_address(block.addr())
        }
    };
    let Some(entries) = entries else { return count_first_of_lane(block, size) };
    entries.store_plain::<SIZED>(lane.tag(), size);
    if lane.add_allocated(amount + size as u64) {
        return empty_lane_and_return(block);
    }
    block
}

/// Tags and counts a new block that the lane was to count, of at most [`SMALL_MAX`] bytes: one whose entries are not mapped yet, or whose
/// tiny tag has no number yet, or null, which is no block.
#[cold]
#[inline(never)]
extern "C" fn count_first_of_lane(block: *mut u8, size: usize) -> *mut u8 {
    if !block.is_null() {
        ledger::lane().counted_elsewhere(class::usable(size));
    }
    cold::counted(block, size)
}

/// Empties the calling thread's lane, which is full with `block`, and returns the block, or the one to which a sample has moved it.
#[cold]
#[inline(never)]
extern "C" fn empty_lane_and_return(block: *mut u8) -> *mut u8 {
    if sampling::is_rare() {
        return sampled::empty_lane(block);
    }
    ledger::empty_lane();
    block
}

/// Allocates a size whose blocks have `USABLE` bytes, 8 or 16, on the thread whose lane this is.
#[inline(always)]
fn allocate_tiny<const USABLE: usize>(lane: &Lane, size: usize) -> *mut u8 {
    if !lane.is_open() {
        return cold::allocate(size);
    }
    // SAFETY: the place is a bin's, and the cache is the calling thread's.
    match unsafe { lane.cache().take(const { class::place_of_tiny(USABLE) }) } {
        // SAFETY: the size is at most TINY_MAX, and the lane is open.
        Some(block) => unsafe { count_tiny::<USABLE>(lane, block, size) },
        None => allocate_tiny_by_call(size),
    }
}

/// [`allocate_tiny`] when the thread's cache has no block at hand. The lane must be open.
#[inline(never)]
extern "C" fn allocate_tiny_by_call(size: usize) -> *mut u8 {
    let block = call_for_block(size);
    if block.is_null() {
        return count_first_of_lane(block, size);
    }
    // SAFETY: the callers have a size of at most TINY_MAX. This thread's lane was open; whoever closed it meanwhile, it
    // was opened.
    unsafe {
        if size <= SHORTEST_BLOCK {
            count_tiny::<SHORTEST_BLOCK>(ledger::lane(), block, size)
        } else {
            count_tiny::<TINY_MAX>(ledger::lane(), block, size)
        }
    }
}

/// Tags and counts a new block of `USABLE` bytes, 8 or 16, and returns it.
///
/// # Safety
/// As for [`Lane::tiny_entry`].
#[inline(always)]
unsafe fn count_tiny<const USABLE: usize>(lane: &Lane, block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: as the caller promises.
    let Some(entry) = (unsafe { lane.tiny_entry(size) }) else { return count_first_of_lane(block, size) };
    // SAFETY: as in `count_plain`.
    let Some(entries) = (unsafe { shadow::find_tiny::<USABLE>(block.addr()) }) else {
        return count_first_of_lane(block, size);
    };
    entries.store(0, entry);
    if lane.add_allocated(const { word::amount(USABLE, 0) } + size as u64) {
        return empty_lane_and_return(block);
    }
    block
}

/// [`allocate`] for `count` times `size` bytes, zeroed. The backend does the zeroing, so that fresh pages of a large
/// block stay untouched.
#[inline]
pub fn allocate_zeroed<const SIZED: bool>(count: usize, size: usize) -> *mut u8 {
    if !ledger::lane().is_open() {
        return cold::allocate_zeroed(count, size);
    }
    let block = jemalloc::calloc(count, size);
    // If the product overflows, the block is null and nothing is counted.
    let Some(bytes) = count.checked_mul(size) else { return block };
    let lane = ledger::lane();
    if !lane.takes(bytes) || block.is_null() {
        return cold::counted(block, bytes);
    }
    lane.called_for_block(class::usable(bytes));
    count_plain::<SIZED>(lane, block, bytes)
}
