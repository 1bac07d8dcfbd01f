//! The cold path: large blocks, large alignments, the first blocks of a thread, and foreign blocks. In exact mode, with
//! frequent samples, and over another backend than jemalloc, all blocks take it.
use std::sync::atomic::Ordering;

use super::count;
use super::tagged::{self, TaggedBlock};
use crate::backend;
use crate::ledger::{tables, totals};
use crate::settings::{Mode, mode};
use crate::sys::next_free;

/// Allocates `size` bytes at natural alignment, as [`super::hot::allocate`].
#[cold]
#[inline(never)]
pub extern "C" fn allocate(size: usize) -> *mut u8 {
    tables::keep_pages_small();
    counted(backend::malloc(size), size)
}

/// Allocates `count` times `size` zeroed bytes, as [`super::hot::allocate_zeroed`].
#[cold]
#[inline(never)]
pub fn allocate_zeroed(count: usize, size: usize) -> *mut u8 {
    tables::keep_pages_small();
    let block = backend::calloc(count, size);
    // If the product overflows, the block is null and nothing is counted.
    match count.checked_mul(size) {
        Some(bytes) => counted(block, bytes),
        None => block,
    }
}

/// Tags and counts a new block of natural alignment, as [`count::allocated`]; null gets [spare memory](count::or_spare).
#[cold]
#[inline(never)]
pub extern "C" fn counted(block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the alignment is 0.
    count::allocated(unsafe { count::or_spare(block, 0, size) }, 1, size)
}

/// Allocates an aligned block. Null when there is no memory; errno may have changed.
///
/// # Safety
/// `alignment` must be a power of two.
#[cold]
#[inline(never)]
pub unsafe fn allocate_aligned(alignment: usize, size: usize, zeroed: bool) -> *mut u8 {
    tables::keep_pages_small();
    // SAFETY: as the caller promises.
    let block = unsafe { count::or_spare(backend::aligned(alignment, size, zeroed), alignment, size) };
    count::allocated(block, alignment, size)
}

/// Frees a block of any origin, as [`super::hot_free::release`].
///
/// # Safety
/// As for [`super::hot_free::release`].
#[cold]
#[inline(never)]
pub unsafe extern "C" fn release(block: *mut u8) {
    if block.is_null() {
        return;
    }
    if mode() == Mode::Off {
        // SAFETY: the caller may free the block, and with tracking off every block is the backend's.
        return unsafe { backend::free(block, None) };
    }
    let Some(tagged) = TaggedBlock::find(block) else {
        if tagged::is_untagged(block) {
            // SAFETY: the caller may free the block, and `is_untagged` says that it is the backend's.
            return unsafe { backend::free(block, None) };
        }
        totals::FOREIGN_FREES.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the block is live and has no tag, so it is not the backend's: it came from the next allocator.
        return unsafe { next_free(block) };
    };
    count::freed(&tagged);
    // SAFETY: the caller may free the block, and its tag says that it is the backend's.
    unsafe { backend::free(block, tagged.class_of()) }
}
