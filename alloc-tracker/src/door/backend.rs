//! The allocator under the tracker, chosen at the first allocation of the process: jemalloc, or with
//! `ALLOC_TRACKER_BACKEND=system` the C library's own, as the program would have run without the tracker. Of the two doors
//! only the hot lane knows jemalloc by name; it is closed where the answer is another.
//!
//! [`Over`](super::over::Over) brings an allocator of its own and asks nothing here.
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};

use super::{jemalloc, system};
use crate::mode::environment;
use crate::sys;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Backend {
    /// jemalloc, as tikv-jemalloc-sys builds it.
    Jemalloc = 1,
    /// The C library.
    System = 2,
}

static BACKEND: AtomicU8 = AtomicU8::new(0);
/// The C library, as far as one can say before it is certain: what it answers meanwhile is nobody's.
const TRYING: u8 = 3;
/// The name of the allocator that `Over` was first used with; a `fn() -> &'static str`, null when it was not.
static OVER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
/// Whether `Over` is in use and counts its blocks.
static OVER_COUNTS: AtomicBool = AtomicBool::new(false);

/// Who answers in this process.
#[inline]
pub fn backend() -> Backend {
    match BACKEND.load(Ordering::Relaxed) {
        1 => Backend::Jemalloc,
        2 | TRYING => Backend::System,
        _ => decide(),
    }
}

#[cold]
fn decide() -> Backend {
    let wanted = environment(c"ALLOC_TRACKER_BACKEND").is_some_and(|value| value == c"system");
    let system = wanted && {
        BACKEND.store(TRYING, Ordering::Relaxed);
        system::prepare()
    };
    let backend = if system { Backend::System } else { Backend::Jemalloc };
    BACKEND.store(backend as u8, Ordering::Relaxed);
    backend
}

/// Whether it is certain who answers. Blocks of before are not counted, and freed as strangers.
#[inline]
pub fn settled() -> bool {
    BACKEND.load(Ordering::Relaxed) != TRYING
}

/// Whether a small block of natural alignment is as large as jemalloc's table of classes says, for sure.
#[inline]
pub fn has_classes() -> bool {
    backend() == Backend::Jemalloc && !over_counts()
}

/// Notes that [`Over`](super::over::Over) is in use, and says whether it shall count its blocks; `name` gives the name of the
/// allocator under it.
#[inline]
pub fn use_over(name: fn() -> &'static str) -> bool {
    if OVER.load(Ordering::Acquire).is_null() {
        first_use_of_over(name);
    }
    over_counts()
}

/// Where C's door is open as well it may be asked for the very same blocks, and counts them already.
#[cold]
fn first_use_of_over(name: fn() -> &'static str) {
    // SAFETY: the name is a C string; RTLD_DEFAULT asks for the definition that the process's calls reach.
    let malloc = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr()) };
    let own = sys::object_of(first_use_of_over as *const _);
    OVER_COUNTS.store(own == 0 || sys::object_of(malloc) != own, Ordering::Relaxed);
    OVER.store(name as *mut (), Ordering::Release);
}

/// Whether [`Over`](super::over::Over) is in use and counts its blocks.
#[inline]
pub fn over_counts() -> bool {
    OVER_COUNTS.load(Ordering::Relaxed)
}

/// The name of the allocator under [`Over`](super::over::Over), if that is in use.
pub fn over() -> Option<&'static str> {
    let name = OVER.load(Ordering::Relaxed);
    // SAFETY: what is stored is null or was a function of this very type (`set_over`).
    (!name.is_null()).then(|| unsafe { std::mem::transmute::<*mut (), fn() -> &'static str>(name) }())
}

/// Any size; null and ENOMEM when there is no memory.
pub fn malloc(size: usize) -> *mut u8 {
    match backend() {
        Backend::Jemalloc => jemalloc::malloc(size),
        Backend::System => system::malloc(size),
    }
}

/// Any size, zeroed; null and ENOMEM when there is no memory or the product overflows.
pub fn calloc(count: usize, size: usize) -> *mut u8 {
    match backend() {
        Backend::Jemalloc => jemalloc::calloc(count, size),
        Backend::System => system::calloc(count, size),
    }
}

/// `alignment` must be a power of two. Null when there is no memory, with whatever errno that left.
pub fn aligned(alignment: usize, size: usize, zeroed: bool) -> *mut u8 {
    match backend() {
        Backend::Jemalloc => jemalloc::aligned(alignment, size, zeroed),
        Backend::System => system::aligned(alignment, size, zeroed),
    }
}

/// Usable bytes of a live block of which `requested` were asked for.
///
/// # Safety
/// `block` must be live and of this backend, or of [`Over`](super::over::Over)'s: such a block has what was requested.
pub unsafe fn usable(block: *const u8, requested: usize) -> usize {
    if over_counts() {
        return requested;
    }
    // SAFETY: as the caller promises.
    unsafe { really_usable(block) }
}

/// The same, of a block that is the backend's for sure.
///
/// # Safety
/// `block` must be live and of this backend.
pub unsafe fn really_usable(block: *const u8) -> usize {
    // SAFETY: as the caller promises.
    unsafe {
        match backend() {
            Backend::Jemalloc => jemalloc::usable(block),
            Backend::System => system::usable(block),
        }
    }
}

/// Whether `block` lies in memory of this backend, as far as it can tell; slow. What the C library cannot tell is the same to
/// it: strangers' blocks are handed on to it.
pub fn owns(block: *const u8) -> bool {
    backend() == Backend::Jemalloc && jemalloc::owns(block)
}

/// Resizes.
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

/// Resizes and keeps an alignment that is a power of two.
///
/// # Safety
/// As for [`realloc`].
pub unsafe fn realloc_aligned(block: *mut u8, alignment: usize, size: usize) -> *mut u8 {
    // SAFETY: as the caller promises.
    unsafe {
        match backend() {
            Backend::Jemalloc => jemalloc::realloc_aligned(block, alignment, size),
            Backend::System => system::realloc_aligned(block, alignment, size),
        }
    }
}

/// Frees. A `plain` block came from a plain `malloc` of `requested` bytes, which spares jemalloc a look-up.
///
/// # Safety
/// `block` must be live and of this backend, and `requested` of its class where it is `plain`; or null.
pub unsafe fn free(block: *mut u8, plain: bool, requested: usize) {
    // SAFETY: as the caller promises.
    unsafe {
        match backend() {
            Backend::Jemalloc if plain && requested > 0 => jemalloc::free_sized(block, requested),
            Backend::Jemalloc => jemalloc::free(block),
            Backend::System => system::free(block),
        }
    }
}
