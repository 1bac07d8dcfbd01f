//! The C door: the functions that the malloc family of `alloc-interpose` calls. They behave as glibc's manual and POSIX
//! say.
use std::ffi::c_int;
use std::ptr;

use super::{cold, hot, hot_free, resize, tagged};
use crate::backend;
use crate::settings::{Mode, mode};
use crate::sys::{next_usable_size, page_bytes, preserving_errno, set_errno};
use crate::tag::block;

/// `malloc(3)`.
#[inline]
pub fn malloc(size: usize) -> *mut u8 {
    hot::allocate(size)
}

/// `calloc(3)`: null and ENOMEM when the product overflows.
#[inline]
pub fn calloc(count: usize, size: usize) -> *mut u8 {
    hot::allocate_zeroed::<false>(count, size)
}

/// `realloc(3)`. For a size of 0 it does what glibc does: it frees the block and returns null.
///
/// # Safety
/// `block` is null or a live block that the caller may free.
#[inline]
pub unsafe fn realloc(block: *mut u8, size: usize) -> *mut u8 {
    if block.is_null() {
        return malloc(size);
    }
    // SAFETY: the caller may free the block; the size is not 0 where the two functions of `resize` are called.
    unsafe {
        if size == 0 {
            hot_free::release(block);
            return ptr::null_mut();
        }
        match resize::resize_small::<false>(block, size) {
            Some(resized) => resized,
            None => resize::resize(block, 0, size),
        }
    }
}

/// `reallocarray(3)`: null and ENOMEM when the product overflows.
///
/// # Safety
/// As for [`realloc`].
pub unsafe fn reallocarray(block: *mut u8, count: usize, size: usize) -> *mut u8 {
    match count.checked_mul(size) {
        // SAFETY: as the caller promises.
        Some(bytes) => unsafe { realloc(block, bytes) },
        None => {
            set_errno(libc::ENOMEM);
            ptr::null_mut()
        }
    }
}

/// `free(3)`.
///
/// # Safety
/// `block` is null or a live block that the caller may free.
#[inline]
pub unsafe fn free(block: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe { hot_free::release(block) }
}

/// Allocates an aligned block. `None` when the alignment is not a power of two. Null when there is no memory; errno is
/// then whatever the kernel left there.
fn aligned(alignment: usize, size: usize) -> Option<*mut u8> {
    if !alignment.is_power_of_two() {
        return None;
    }
    // SAFETY: the alignment is a power of two.
    Some(unsafe { cold::allocate_aligned(alignment, size, false) })
}

/// `posix_memalign(3)`: returns an error's code and leaves errno alone. On an error `*result` stays as it was.
///
/// # Safety
/// `result` must be valid for writing a pointer.
#[inline]
pub unsafe fn posix_memalign(result: *mut *mut u8, alignment: usize, size: usize) -> c_int {
    if !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // When the kernel refuses memory, it sets errno.
    match preserving_errno(|| aligned(alignment, size)) {
        None => libc::EINVAL,
        Some(block) if block.is_null() => libc::ENOMEM,
        Some(block) => {
            // SAFETY: the caller promises that `result` may be written.
            unsafe { *result = block };
            0
        }
    }
}

/// `aligned_alloc(3)`. As in glibc, the size need not be a multiple of the alignment.
pub fn aligned_alloc(alignment: usize, size: usize) -> *mut u8 {
    match aligned(alignment, size) {
        None => {
            set_errno(libc::EINVAL);
            ptr::null_mut()
        }
        Some(block) => {
            if block.is_null() {
                set_errno(libc::ENOMEM);
            }
            block
        }
    }
}

/// `memalign(3)`. As in glibc, an alignment that is not a power of two is rounded up to one.
pub fn memalign(alignment: usize, size: usize) -> *mut u8 {
    match alignment.checked_next_power_of_two() {
        Some(alignment) => aligned_alloc(alignment, size),
        None => {
            set_errno(libc::EINVAL);
            ptr::null_mut()
        }
    }
}

/// `valloc(3)`: a block that is aligned to a page.
pub fn valloc(size: usize) -> *mut u8 {
    aligned_alloc(page_bytes(), size)
}

/// `pvalloc(3)`: a block of whole pages, aligned to a page.
pub fn pvalloc(size: usize) -> *mut u8 {
    let page = page_bytes();
    match size.max(1).checked_next_multiple_of(page) {
        Some(bytes) => aligned_alloc(page, bytes),
        None => {
            set_errno(libc::ENOMEM);
            ptr::null_mut()
        }
    }
}

/// `malloc_usable_size(3)`: 0 for null. A block of another allocator is passed on to the next one, as `free` does.
///
/// # Safety
/// `block` is null or a live block.
pub unsafe fn malloc_usable_size(block: *mut u8) -> usize {
    if block.is_null() {
        return 0;
    }
    if mode() != Mode::Off && block::find(block.addr()).is_none() && !tagged::is_untagged(block) {
        // SAFETY: the block is live, and as it has no tag it is not the backend's: it came from the next allocator.
        return unsafe { next_usable_size(block) };
    }
    // SAFETY: the caller promises a live block. It has a tag, or `is_untagged` says that it is the backend's, or with
    // tracking off every block is.
    unsafe { backend::usable_by_backend(block) }
}
