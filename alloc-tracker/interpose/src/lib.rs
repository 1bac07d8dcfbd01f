//! The C malloc family, answered by `alloc-tracker`. Name this crate in `main.rs` and every C and C++ allocation of the
//! process is tracked as well:
//!
//! ```ignore
//! use alloc_interpose as _;
//! ```
//!
//! The functions are exported from the executable, where the dynamic loader looks first, so that the calls of every
//! shared library arrive here. They are pinned (`FAMILY`), because rustc may drop an archive member that only
//! interposes (rust-lang/rust#57287), and the tracker proves at run time where each library's calls really go
//! (`alloc_tracker::interposition`). Linux only: on macOS the two-level namespace of dyld keeps libraries on their own
//! malloc.

use std::ffi::{c_int, c_void};

use alloc_tracker::door::c;

/// A table of function addresses; shareable because nobody reads it.
struct Pinned(#[allow(dead_code, reason = "it is there to be linked")] [*const (); 14]);

// SAFETY: the addresses are of functions and are never used.
unsafe impl Sync for Pinned {}

/// Keeps the linker from dropping the functions below.
#[used]
static FAMILY: Pinned = Pinned([
    malloc as *const (),
    calloc as *const (),
    realloc as *const (),
    reallocarray as *const (),
    free as *const (),
    cfree as *const (),
    posix_memalign as *const (),
    aligned_alloc as *const (),
    memalign as *const (),
    valloc as *const (),
    pvalloc as *const (),
    malloc_usable_size as *const (),
    free_sized as *const (),
    free_aligned_sized as *const (),
]);

/// `malloc(3)`.
#[unsafe(no_mangle)]
pub extern "C" fn malloc(size: usize) -> *mut c_void {
    c::malloc(size).cast()
}

/// `calloc(3)`.
#[unsafe(no_mangle)]
pub extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    c::calloc(count, size).cast()
}

/// `realloc(3)`.
///
/// # Safety
/// `block` is null or a live block that the caller may free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: as the caller promises.
    unsafe { c::realloc(block.cast(), size) }.cast()
}

/// `reallocarray(3)`.
///
/// # Safety
/// As for [`realloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    // SAFETY: as the caller promises.
    unsafe { c::reallocarray(block.cast(), count, size) }.cast()
}

/// `free(3)`.
///
/// # Safety
/// `block` is null or a live block that the caller may free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: as the caller promises.
    unsafe { c::free(block.cast()) }
}

/// `cfree(3)`, which some old programs still call.
///
/// # Safety
/// As for [`free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cfree(block: *mut c_void) {
    // SAFETY: as the caller promises.
    unsafe { c::free(block.cast()) }
}

/// `posix_memalign(3)`.
///
/// # Safety
/// `result` must be valid for writing a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(result: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { c::posix_memalign(result.cast(), alignment, size) }
}

/// `aligned_alloc(3)`.
#[unsafe(no_mangle)]
pub extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    c::aligned_alloc(alignment, size).cast()
}

/// `memalign(3)`.
#[unsafe(no_mangle)]
pub extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    c::memalign(alignment, size).cast()
}

/// `valloc(3)`.
#[unsafe(no_mangle)]
pub extern "C" fn valloc(size: usize) -> *mut c_void {
    c::valloc(size).cast()
}

/// `pvalloc(3)`.
#[unsafe(no_mangle)]
pub extern "C" fn pvalloc(size: usize) -> *mut c_void {
    c::pvalloc(size).cast()
}

/// `malloc_usable_size(3)`.
///
/// # Safety
/// `block` is null or a live block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    // SAFETY: as the caller promises.
    unsafe { c::malloc_usable_size(block.cast()) }
}

/// `free_sized` of C23.
///
/// # Safety
/// As for [`free`]; `size` is what was asked for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_sized(block: *mut c_void, _size: usize) {
    // SAFETY: as the caller promises.
    unsafe { c::free(block.cast()) }
}

/// `free_aligned_sized` of C23.
///
/// # Safety
/// As for [`free`]; `alignment` and `size` are what was asked for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free_aligned_sized(block: *mut c_void, _alignment: usize, _size: usize) {
    // SAFETY: as the caller promises.
    unsafe { c::free(block.cast()) }
}
