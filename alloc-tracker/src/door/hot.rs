//! The hot path, which nearly every allocation and free takes: a small block, on a thread whose lane is open. Every
//! other block leaves this path at the first comparison that recognises it, by a call of a function that is `extern
//! "C"`. Such a function does not unwind, so that the compiler keeps no register over the call.
use super::{cold, count, sampled};
use crate::backend::jemalloc;
use crate::ledger::{self, Lane};
use crate::settings::sampling;
use crate::tag::block::{self, Tag};
use crate::tag::class;
use crate::tag::shadow::{self, TINY};
use crate::tag::tiny;
use crate::tag::word::{self, FINE, SMALL_MAX};

/// The layer in which the tag of a plain block stands, from the block's [`class::amount_of_class`]. (Only the lowest
/// six bits of a layer are read.) `SIZED`: whether the block's free will tell its size, as a free through Rust's door
/// does.
#[inline(always)]
fn layer<const SIZED: bool>(amount: u64) -> u32 {
    if SIZED { amount as u32 } else { FINE }
}

/// Allocates `size` bytes at the backend's natural alignment. Null and ENOMEM when there is no memory.
#[inline(always)]
pub fn allocate<const SIZED: bool>(size: usize) -> *mut u8 {
    let lane = ledger::lane();
    if !lane.takes(size) {
        return allocate_other(size);
    }
    // SAFETY: the lane takes no size above SMALL_MAX, and its cache is the calling thread's.
    match unsafe { lane.cache().take(class::place_of_class(size)) } {
        Some(block) => count_plain::<SIZED>(lane, block, size),
        None => allocate_by_call::<SIZED>(size),
    }
}

/// [`allocate`] for a size that the lane takes, when the thread's cache has no block of it at hand.
#[inline(never)]
extern "C" fn allocate_by_call<const SIZED: bool>(size: usize) -> *mut u8 {
    let block = call_for_block(size);
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
    // SAFETY: the backend's blocks lie where the kernel maps memory for programs, below 2^48. Null (when there is no
    // memory) lies there too, in a chunk that is not mapped.
    let entries = unsafe { shadow::find_plain(block.addr(), layer::<SIZED>(amount)) };
    let Some(entries) = entries else { return count_first_of_lane(block, size) };
    entries.store_plain(lane.tag(), size);
    if lane.add_allocated(amount + size as u64) {
        return empty_lane_and_return(block);
    }
    block
}

/// Tags and counts a new block whose entries are not mapped yet, or whose tiny tag has no number yet, and returns it.
/// Null is no block.
#[cold]
#[inline(never)]
extern "C" fn count_first(block: *mut u8, size: usize) -> *mut u8 {
    count::allocated(block, size)
}

/// [`count_first`] for a block of at most [`SMALL_MAX`] bytes that the lane was to count.
#[cold]
#[inline(never)]
extern "C" fn count_first_of_lane(block: *mut u8, size: usize) -> *mut u8 {
    if !block.is_null() {
        ledger::lane().counted_elsewhere(class::usable(size));
    }
    count_first(block, size)
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

/// [`allocate`] for tiny blocks, large ones, and threads whose lane is closed.
#[inline(never)]
extern "C" fn allocate_other(size: usize) -> *mut u8 {
    if size > 16 || !ledger::lane().is_open() {
        return cold::allocate(size);
    }
    // SAFETY: the size was compared above, and the cache is the calling thread's.
    let cached = unsafe { ledger::lane().cache().take(class::place_of_class(size)) };
    let block = cached.unwrap_or_else(|| call_for_block(size));
    let lane = ledger::lane();
    // SAFETY: the size was compared above. This thread's lane was open then; whoever closed it meanwhile, it was opened.
    let Some(tag) = (unsafe { lane.tiny_tag(size) }) else { return count_first_of_lane(block, size) };
    // SAFETY: as in `count_plain`.
    let Some(entries) = (unsafe { shadow::find_fine(block.addr()) }) else {
        return count_first_of_lane(block, size);
    };
    entries.store(0, TINY | tag);
    // SAFETY: the size is at most 16, and so at most SMALL_MAX.
    if lane.add_allocated(unsafe { class::amount_of_class(size) } + size as u64) {
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
    let bytes = count.wrapping_mul(size);
    let lane = ledger::lane();
    if !lane.takes(bytes) || block.is_null() {
        return count_first(block, bytes);
    }
    lane.called_for_block(class::usable(bytes));
    count_plain::<SIZED>(lane, block, bytes)
}

/// Frees a block of any origin, or does nothing for null.
///
/// # Safety
/// `block` is null or a live block that the caller may free.
#[inline(always)]
pub unsafe fn release(block: *mut u8) {
    let lane = ledger::lane();
    // SAFETY: a live block lies where the kernel maps memory for programs, below 2^48; so does null.
    if let Some(entries) = unsafe { shadow::find_plain(block.addr(), FINE) }
        && lane.frees(entries.load(0))
    {
        let size = usize::from(entries.load(1));
        entries.clear_plain();
        // SAFETY: the request of a plain block is at most SMALL_MAX.
        let amount = unsafe { class::amount_of_class(size) } + size as u64;
        // SAFETY: the caller may free the block, its tag is cleared, and the lane counts the frees of its scope.
        return unsafe { count_and_free(lane, block, amount, size) };
    }
    // SAFETY: as the caller promises.
    unsafe { release_other(block) }
}

/// [`release`] for a block whose requested size is known.
///
/// # Safety
/// As for [`release`]; `size` must be the requested bytes of the block.
#[inline(always)]
pub unsafe fn release_sized(block: *mut u8, size: usize) {
    // Tiny blocks leave the path here because of their size, which is known at once. Their tag would tell as well, but
    // it has to be loaded first, and a branch on it that is mispredicted costs much.
    // SAFETY: as the caller promises.
    unsafe { if (17..=SMALL_MAX).contains(&size) { release_plain(block, size) } else { release_other(block) } }
}

/// [`release_sized`] for sizes of 17 to [`SMALL_MAX`] bytes.
///
/// # Safety
/// As for [`release_sized`].
// This is not inlined: inlined into a program's loop over its data, it keeps the processor from reading ahead in that
// loop. (Dropping a tree of 160,000 JSON records took 20 % longer.)
#[inline(never)]
unsafe extern "C" fn release_plain(block: *mut u8, size: usize) {
    let lane = ledger::lane();
    // SAFETY: the caller promises a size of at most SMALL_MAX.
    let amount = unsafe { class::amount_of_class(size) };
    // SAFETY: a live block lies where the kernel maps memory for programs, below 2^48.
    if let Some(entries) = unsafe { shadow::find_plain(block.addr(), layer::<true>(amount)) }
        && lane.frees(entries.load(0))
    {
        debug_assert_eq!(usize::from(entries.load(1)), size, "a free with a size that was not requested");
        entries.clear_plain();
        // The backend gets the size from the caller and not from the tag, so that it need not wait for the tag to be
        // loaded.
        // SAFETY: the caller may free the block, its tag is cleared, and the lane counts the frees of its scope.
        return unsafe { count_and_free(lane, block, amount + size as u64, size) };
    }
    // SAFETY: as the caller promises.
    unsafe { release_other(block) }
}

/// Counts a free and frees the block. `amount` is what the block added to a count word when it was allocated.
///
/// # Safety
/// The caller may free `block`, which came from `malloc` with a size of the class of `size`. Its tag is cleared, and
/// `lane` counts the frees of its scope.
#[inline(always)]
unsafe fn count_and_free(lane: &Lane, block: *mut u8, amount: u64, size: usize) {
    if lane.add_freed(amount) {
        // SAFETY: as the caller promises.
        return unsafe { empty_lane_and_free(block, size) };
    }
    // SAFETY: as the caller promises.
    unsafe { free_counted(lane, block, size) }
}

/// Frees a block that is counted.
///
/// # Safety
/// As for [`jemalloc::free_sized`]; `lane` must be the calling thread's, and `size` at most [`SMALL_MAX`].
#[inline(always)]
unsafe fn free_counted(lane: &Lane, block: *mut u8, size: usize) {
    // SAFETY: the caller promises the size and the lane, and a block of its class.
    unsafe {
        if !lane.cache().give(class::place_of_class(size), block) {
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
    unsafe { free_counted(ledger::lane(), block, size) }
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
    if let Some(entries) = unsafe { shadow::find_fine(block.addr()) }
        && entries.load(0) & TINY != 0
    {
        let tiny = tiny::pair(entries.load(0));
        if lane.frees(tiny.scope + 1) {
            entries.store(0, 0);
            // The block's usable size serves as a requested size of its class.
            // SAFETY: the caller may free the block, its tag is cleared, and the lane counts the frees of its scope.
            return unsafe { count_and_free(lane, block, word::amount(tiny.usable, tiny.requested), tiny.usable) };
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
            unsafe { count_and_free(lane, block, amount, size) }
        }
        // The call finds the tag once more, and now the lane counts the frees of its scope.
        // SAFETY: as the caller promises.
        Some((_, Tag::Tiny(tiny))) if lane.frees(tiny.scope + 1) => unsafe { release_other(block) },
        // SAFETY: as the caller promises.
        _ => unsafe { cold::release(block) },
    }
}
