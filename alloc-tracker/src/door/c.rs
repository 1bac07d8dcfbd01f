//! The C door: what the malloc family of `alloc-interpose` calls. Semantics as glibc's manual and POSIX have them.
use std::ffi::c_int;
use std::ptr;

use super::{backend, cold, hot, resize};
use crate::mode::{Mode, mode};
use crate::tag::block;

fn set_errno(code: c_int) {
    // SAFETY: __errno_location returns the calling thread's own errno, valid for the thread's life.
    unsafe { *libc::__errno_location() = code };
}

/// `malloc(3)`.
#[inline]
pub fn malloc(size: usize) -> *mut u8 {
    hot::allocate::<false>(size)
}

/// `calloc(3)`: null and ENOMEM when the product overflows.
#[inline]
pub fn calloc(count: usize, size: usize) -> *mut u8 {
    hot::allocate_zeroed::<false>(count, size)
}

/// `realloc(3)`, with glibc's answer to a size of 0: the block is freed and the result is null.
///
/// # Safety
/// `block` is null or a live block that the caller may free.
#[inline]
pub unsafe fn realloc(block: *mut u8, size: usize) -> *mut u8 {
    if block.is_null() {
        return malloc(size);
    }
    // SAFETY: as the caller promises; the size is not 0 where `resize` is called.
    unsafe {
        if size == 0 {
            hot::release(block);
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
    unsafe { hot::release(block) }
}

/// An aligned block; `None` when the alignment is no power of two, null when there is no memory, and then with
/// whatever errno the kernel left.
fn aligned(alignment: usize, size: usize) -> Option<*mut u8> {
    if !alignment.is_power_of_two() {
        return None;
    }
    let block = backend::aligned(alignment, size, false);
    cold::count(block, size);
    Some(block)
}

/// `posix_memalign(3)`: the code is returned, errno stays, and `*result` is left alone on an error.
///
/// # Safety
/// `result` must be valid for writing a pointer.
#[inline]
pub unsafe fn posix_memalign(result: *mut *mut u8, alignment: usize, size: usize) -> c_int {
    if !alignment.is_multiple_of(size_of::<usize>()) {
        return libc::EINVAL;
    }
    // SAFETY: __errno_location returns the calling thread's own errno, valid for the thread's life.
    let errno = unsafe { *libc::__errno_location() };
    match aligned(alignment, size) {
        None => libc::EINVAL,
        Some(block) if block.is_null() => {
            // The kernel's refusal left its own.
            set_errno(errno);
            libc::ENOMEM
        }
        Some(block) => {
            // SAFETY: as the caller promises.
            unsafe { *result = block };
            0
        }
    }
}

/// `aligned_alloc(3)`: as glibc, a size that is no multiple of the alignment is accepted.
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

/// `memalign(3)`: as glibc, an alignment that is no power of two is rounded up to one.
pub fn memalign(alignment: usize, size: usize) -> *mut u8 {
    match alignment.checked_next_power_of_two() {
        Some(alignment) => aligned_alloc(alignment, size),
        None => {
            set_errno(libc::EINVAL);
            ptr::null_mut()
        }
    }
}

fn page_bytes() -> usize {
    // SAFETY: sysconf only reads a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// `valloc(3)`: aligned to a page.
pub fn valloc(size: usize) -> *mut u8 {
    aligned_alloc(page_bytes(), size)
}

/// `pvalloc(3)`: whole pages.
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

/// `malloc_usable_size(3)`: 0 for null and for blocks of another allocator.
///
/// # Safety
/// `block` is null or a live block.
pub unsafe fn malloc_usable_size(block: *mut u8) -> usize {
    if block.is_null() {
        return 0;
    }
    if mode() != Mode::Off && block::find(block.addr()).is_none() && !cold::untagged(block) {
        return 0;
    }
    // SAFETY: the block is live and the backend's.
    unsafe { backend::really_usable(block) }
}
