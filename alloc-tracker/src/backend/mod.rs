//! The backend: the allocator under the tracker, chosen at the process's first allocation. It is jemalloc, or with
//! `ALLOC_TRACKER_BACKEND=system` the C library's own allocator.
//!
//! A program can bring an allocator of its own instead ([`Over`](crate::Over)). That allocator is called by `Over`
//! alone; this module only notes that it exists ([`inner`]).
mod choice;
pub mod inner;
pub mod jemalloc;
mod system;
pub mod thread_cache;

pub use choice::{Backend, backend, is_settled};

/// Whether the usable size of a small block with natural alignment follows from the requested size by jemalloc's table
/// of size classes (`tag/class.rs`). It does over jemalloc only.
#[inline]
pub fn has_classes() -> bool {
    backend() == Backend::Jemalloc && !inner::is_counted()
}

/// To be called first by each thread of the tracker's own: where the backend can tell memory of different threads apart, that
/// thread's is kept apart from the program's.
pub fn begin_trackers_thread() {
    if backend() == Backend::Jemalloc {
        jemalloc::use_trackers_arena();
    }
}

/// Sees to it that there is memory for `bytes` more of the tracker's own, as far as the backend can keep it apart from the program's.
/// It takes addresses and no pages. `false` when it is known that there is not as much.
pub fn keep_spare(bytes: usize) -> bool {
    match backend() {
        Backend::Jemalloc => jemalloc::keep_spare(bytes),
        Backend::System => true,
    }
}

/// Allocates zeroed bytes from what [`keep_spare`] keeps. `alignment` is 0 for the natural one. Null when there are none.
///
/// # Safety
/// `alignment` must be 0 or a power of two.
pub unsafe fn spare(alignment: usize, size: usize) -> *mut u8 {
    match backend() {
        // SAFETY: as the caller promises.
        Backend::Jemalloc => unsafe { jemalloc::spare(alignment, size) },
        Backend::System => std::ptr::null_mut(),
    }
}

/// Allocates any size. Null and ENOMEM when there is no memory.
pub fn malloc(size: usize) -> *mut u8 {
    match backend() {
        Backend::Jemalloc => jemalloc::malloc(size),
        Backend::System => system::malloc(size),
    }
}

/// Allocates any size, zeroed. Null and ENOMEM when there is no memory or the product overflows.
pub fn calloc(count: usize, size: usize) -> *mut u8 {
    match backend() {
        Backend::Jemalloc => jemalloc::calloc(count, size),
        Backend::System => system::calloc(count, size),
    }
}

/// Allocates an aligned block. Null when there is no memory; errno may have changed.
///
/// # Safety
/// `alignment` must be a power of two.
pub unsafe fn aligned(alignment: usize, size: usize, zeroed: bool) -> *mut u8 {
    // SAFETY: as the caller promises.
    unsafe {
        match backend() {
            Backend::Jemalloc => jemalloc::aligned(alignment, size, zeroed),
            Backend::System => system::aligned(alignment, size, zeroed),
        }
    }
}

/// Usable bytes of a live block of which `requested` bytes were asked for.
///
/// # Safety
/// `block` must be live and of this backend, or of the program's own allocator under [`Over`](crate::Over). A block of
/// `Over` has no known usable size, and `requested` is returned for it.
pub unsafe fn usable(block: *const u8, requested: usize) -> usize {
    if inner::is_counted() {
        return requested;
    }
    // SAFETY: the caller promises a live block; `Over` counts no blocks here, so it is the backend's.
    unsafe { usable_by_backend(block) }
}

/// Usable bytes, as the backend itself tells them.
///
/// # Safety
/// `block` must be live and of this backend.
pub unsafe fn usable_by_backend(block: *const u8) -> usize {
    // SAFETY: as the caller promises.
    unsafe {
        match backend() {
            Backend::Jemalloc => jemalloc::usable(block),
            Backend::System => system::usable(block),
        }
    }
}

/// Whether `block` lies in the backend's memory, as far as the backend can tell; slow. The C library cannot tell, so
/// over it the answer is always no. That does no harm: a block that is not the tracker's is passed to the C library
/// anyway.
pub fn owns(block: *const u8) -> bool {
    backend() == Backend::Jemalloc && jemalloc::owns(block)
}

/// Resizes a block.
///
/// # Safety
/// `block` must be live and of this backend; on success it is gone. `size` must not be 0.
pub unsafe fn realloc(block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: as the caller promises.
    unsafe {
        match backend() {
            Backend::Jemalloc => jemalloc::realloc(block, size),
            Backend::System => system::realloc(block, size),
        }
    }
}

/// Resizes a block and keeps its alignment, a power of two.
///
/// # Safety
/// As for [`realloc`]; `alignment` must be a power of two.
pub unsafe fn realloc_aligned(block: *mut u8, alignment: usize, size: usize) -> *mut u8 {
    // SAFETY: as the caller promises.
    unsafe {
        match backend() {
            Backend::Jemalloc => jemalloc::realloc_aligned(block, alignment, size),
            Backend::System => system::realloc_aligned(block, alignment, size),
        }
    }
}

/// Frees a block. `class_of` is a requested size of the block's size class, if the block came from a plain `malloc`; it
/// spares jemalloc a look-up.
///
/// # Safety
/// `block` must be null, or live and of this backend. If `class_of` is given, `block` must be of that size's class.
pub unsafe fn free(block: *mut u8, class_of: Option<usize>) {
    // SAFETY: as the caller promises.
    unsafe {
        match (backend(), class_of) {
            (Backend::Jemalloc, Some(size)) if size > 0 => jemalloc::free_sized(block, size),
            (Backend::Jemalloc, _) => jemalloc::free(block),
            (Backend::System, _) => system::free(block),
        }
    }
}
