//! The C malloc family, served by `alloc-tracker`. Name this crate in `main.rs`, and every C and C++ allocation of the
//! process is tracked as well:
//!
//! ```no_run
//! use alloc_interpose as _;
//!
//! #[global_allocator]
//! static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();
//!
//! fn main() {}
//! ```
//!
//! The executable exports the functions. The dynamic loader looks there first, so the calls of every shared library
//! arrive here. The table `FAMILY` keeps the functions in the executable, because rustc may drop an archive member that
//! nothing else refers to (rust-lang/rust#57287). At run time the tracker checks where the calls of each library really
//! go (`alloc_tracker::interposition`). This works on Linux only: on macOS, dyld's two-level namespace keeps each
//! library on its own malloc.

use std::ffi::{c_int, c_void};

use alloc_tracker::malloc_family as c;

/// A table of function addresses, which is never read.
struct Pinned(#[allow(dead_code, reason = "it is there to be linked")] [*const (); 14]);

// SAFETY: the table is never written, and its addresses are those of functions and are never used.
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
