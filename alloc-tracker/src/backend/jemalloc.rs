//! jemalloc, as tikv-jemalloc-sys builds it: the allocator under the tracker unless the user wants another.
//!
//! It maps with MAP_NORESERVE, so that the kernel grants it more than all memory. A program that asks for too much is to be
//! told so as by the C library's allocator ([decision 33](../../../docs/decisions/0033-as-much-as-there-is.md)).
use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use tikv_jemalloc_sys as je;

use crate::sys::{exceeds_memory, set_errno};

/// jemalloc's settings unless the environment (`_RJEM_MALLOC_CONF`) says otherwise. Training frees and reallocates the
/// same large blocks every step; jemalloc's default gives blocks of 8 MiB and more back to the kernel at once, so that
/// every step faults their pages in again. `docs/OVERHEAD.md` has the numbers.
pub const CONFIG: &std::ffi::CStr = c"oversize_threshold:0,dirty_decay_ms:-1,muzzy_decay_ms:-1";

/// jemalloc looks this symbol up when it starts.
#[unsafe(export_name = "_rjem_malloc_conf")]
#[used]
pub static MALLOC_CONF: Option<&'static c_char> =
    // SAFETY: the pointer is that of a C string constant, valid for ever and never null.
    unsafe { CONFIG.as_ptr().as_ref() };

// A shared library that has the tracker keeps this symbol to itself: otherwise a jemalloc of the program's that was built in the same way would find these
// settings, and the tracker's would find the program's. The lines only say how visible the symbol is.
#[cfg(target_os = "linux")]
std::arch::global_asm!(".globl _rjem_malloc_conf", ".hidden _rjem_malloc_conf");

/// Allocates `size` bytes, any number. Null and ENOMEM when there is no memory.
#[inline(always)]
pub fn malloc(size: usize) -> *mut u8 {
    if exceeds_memory(size) {
        return no_memory();
    }
    // SAFETY: malloc accepts every size.
    unsafe { je::malloc(size) }.cast()
}

/// Allocates `count` times `size` zeroed bytes. Null and ENOMEM when there is no memory or the product overflows.
pub fn calloc(count: usize, size: usize) -> *mut u8 {
    if exceeds_memory(count.saturating_mul(size)) {
        return no_memory();
    }
    // SAFETY: calloc accepts every pair of sizes and checks their product.
    unsafe { je::calloc(count, size) }.cast()
}

/// Allocates an aligned block. Null when there is no memory; errno is then whatever the kernel left there.
///
/// # Safety
/// `alignment` must be a power of two.
pub unsafe fn aligned(alignment: usize, size: usize, zeroed: bool) -> *mut u8 {
    if exceeds_memory(size) {
        return no_memory();
    }
    let flags = je::MALLOCX_ALIGN(alignment) | if zeroed { je::MALLOCX_ZERO } else { 0 };
    // SAFETY: mallocx wants a size above 0, which `max` sees to, and an alignment that is a power of two, which the
    // caller promises; a size that overflows after rounding gives null.
    unsafe { je::mallocx(size.max(1), flags) }.cast()
}

#[cold]
fn no_memory() -> *mut u8 {
    set_errno(libc::ENOMEM);
    ptr::null_mut()
}

/// Usable bytes of a live block of this backend.
///
/// # Safety
/// `block` must be live and of this backend.
#[inline]
pub unsafe fn usable(block: *const u8) -> usize {
    // SAFETY: as the caller promises.
    unsafe { je::sallocx(block.cast(), 0) }
}

/// Whether `block` lies in memory that jemalloc manages; slow.
pub fn owns(block: *const u8) -> bool {
    arena_of(block).is_some()
}

/// The arena of an address in memory that jemalloc manages.
fn arena_of(block: *const u8) -> Option<u32> {
    let mut arena = 0u32;
    let (mut arena_bytes, mut block) = (size_of_val(&arena), block);
    let (from, to) = ((&raw mut block).cast(), (&raw mut arena).cast());
    // SAFETY: the name is a C string. This control reads a pointer from `from` and writes an unsigned int to `to`,
    // which both have the size given. It only looks the pointer up, and reports an error for one that it does not find.
    let failed = unsafe { je::mallctl(c"arenas.lookup".as_ptr(), to, &mut arena_bytes, from, size_of_val(&block)) };
    (failed == 0).then_some(arena)
}

/// The arena of the tracker's threads; `NO_ARENA` as long as there is none.
static TRACKERS_ARENA: AtomicU32 = AtomicU32::new(NO_ARENA);
const NO_ARENA: u32 = u32::MAX;
/// After so long the arena's free pages go back to the kernel. The program's never do ([`CONFIG`]), because every step needs them
/// again; the recorder needs most of its memory once in a minute.
const DIRTY_DECAY_MS: isize = 1000;

/// The arena from which the tracker's own threads have their memory; `None` as long as there is none.
pub fn trackers_arena() -> Option<u32> {
    Some(TRACKERS_ARENA.load(Ordering::Relaxed)).filter(|&arena| arena != NO_ARENA)
}

/// Has the calling thread, one of the tracker's own, take its memory from an arena that the program's threads do not use. So
/// what it frees is counted apart from the program's free memory, and its blocks do not lie between the program's. Without
/// memory for an arena the thread uses one of the program's.
///
/// Not for a thread of the program: jemalloc purges the pages of an arena that the last thread leaves.
pub fn use_trackers_arena() {
    let Some(arena) = trackers_arena().or_else(make_trackers_arena) else { return };
    let from = (&raw const arena).cast_mut().cast();
    // SAFETY: the name is a C string; this control reads an unsigned int from `from`, which has that size.
    unsafe { je::mallctl(c"thread.arena".as_ptr(), ptr::null_mut(), ptr::null_mut(), from, size_of_val(&arena)) };
}

fn make_trackers_arena() -> Option<u32> {
    let mut arena = NO_ARENA;
    let mut bytes = size_of_val(&arena);
    let to = (&raw mut arena).cast();
    // SAFETY: the name is a C string; this control writes an unsigned int to `to`, which has the size given.
    let failed = unsafe { je::mallctl(c"arenas.create".as_ptr(), to, &mut bytes, ptr::null_mut(), 0) };
    if failed != 0 {
        return None;
    }
    for (name, after_ms) in [(c"arena.0.dirty_decay_ms", DIRTY_DECAY_MS), (c"arena.0.muzzy_decay_ms", 0)] {
        // Where this fails, the arena keeps its free pages as the program's do.
        control_arena(name, arena, Some(after_ms));
    }
    // Two threads may each make one; then the second stays empty.
    let made = TRACKERS_ARENA.compare_exchange(NO_ARENA, arena, Ordering::Relaxed, Ordering::Relaxed);
    Some(made.map_or_else(|first| first, |_| arena))
}

/// Writes one of an arena's controls: one that takes a `ssize_t`, or one that takes nothing. `name` is that of arena 0.
fn control_arena(name: &CStr, arena: u32, value: Option<isize>) {
    let mut path = [0usize; 3];
    let mut parts = path.len();
    // SAFETY: the name is a C string, and `path` has room for so many parts.
    let unknown = unsafe { je::mallctlnametomib(name.as_ptr(), path.as_mut_ptr(), &mut parts) };
    path[1] = arena as usize;
    let from = value.as_ref().map_or(ptr::null_mut(), |value| ptr::from_ref(value).cast_mut().cast());
    let bytes = value.as_ref().map_or(0, size_of_val);
    if unknown == 0 {
        // SAFETY: the path has so many parts; the control reads what the caller says from `from`, or nothing.
        unsafe { je::mallctlbymib(path.as_ptr(), parts, ptr::null_mut(), ptr::null_mut(), from, bytes) };
    }
}

/// Sees to it that the tracker's arena has addresses for one more block of `bytes`, which no other arena takes from it. Their
/// pages are not resident, and jemalloc does not count them as memory in use. `false` when there is no memory.
pub fn keep_spare(bytes: usize) -> bool {
    let Some(arena) = trackers_arena().or_else(make_trackers_arena) else { return false };
    let flags = je::MALLOCX_ARENA(arena as usize) | je::MALLOCX_TCACHE_NONE;
    // SAFETY: the size is above 0, and the arena exists.
    let block = unsafe { je::mallocx(bytes.max(1), flags) };
    if block.is_null() {
        return false;
    }
    // An arena keeps the addresses of what is freed.
    // SAFETY: the block is live, and freed once.
    unsafe { je::dallocx(block, flags) };
    // It would count their pages as dirty until the time for that is over.
    control_arena(c"arena.0.purge", arena, None);
    true
}

/// Allocates zeroed bytes from the tracker's arena, whatever the calling thread's is. `alignment` is a power of two, or 0 for the natural
/// one. Null when there are none, or no such arena.
///
/// # Safety
/// `alignment` must be 0 or a power of two.
pub unsafe fn spare(alignment: usize, size: usize) -> *mut u8 {
    let Some(arena) = trackers_arena() else { return ptr::null_mut() };
    let aligned = if alignment == 0 { 0 } else { je::MALLOCX_ALIGN(alignment) };
    let flags = je::MALLOCX_ARENA(arena as usize) | je::MALLOCX_TCACHE_NONE | je::MALLOCX_ZERO | aligned;
    // SAFETY: the size is above 0, the arena exists, and the caller promises the alignment.
    unsafe { je::mallocx(size.max(1), flags) }.cast()
}

/// Resizes a block to `size` bytes. Null and ENOMEM when there is no memory; the block then stays.
///
/// # Safety
/// `block` must be live and of this backend; on success it is gone.
pub unsafe fn realloc(block: *mut u8, size: usize) -> *mut u8 {
    if exceeds_memory(size) {
        return no_memory();
    }
    // SAFETY: as the caller promises.
    unsafe { je::realloc(block.cast(), size) }.cast()
}

/// Resizes a block and keeps its alignment, a power of two. Null when there is no memory; the block then stays.
///
/// # Safety
/// As for [`realloc`]; `size` must not be 0, and `alignment` must be a power of two.
pub unsafe fn realloc_aligned(block: *mut u8, alignment: usize, size: usize) -> *mut u8 {
    if exceeds_memory(size) {
        return no_memory();
    }
    // SAFETY: as the caller promises.
    unsafe { je::rallocx(block.cast(), size, je::MALLOCX_ALIGN(alignment)) }.cast()
}

/// Frees a block, or does nothing for null.
///
/// # Safety
/// `block` must be live and of this backend, or null.
#[inline]
pub unsafe fn free(block: *mut u8) {
    // SAFETY: as the caller promises.
    unsafe { je::free(block.cast()) }
}

/// Frees a block whose requested size is known. The size spares jemalloc a look-up.
///
/// # Safety
/// `block` must be live, of this backend, and made by [`malloc`], [`calloc`] or [`realloc`] with a size of the same
/// class as `size`, which must be above 0.
#[inline(always)]
pub unsafe fn free_sized(block: *mut u8, size: usize) {
    // SAFETY: as the caller promises.
    unsafe { je::sdallocx(block.cast(), size, 0 as c_int) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arena of a block that is larger than what the threads' caches keep.
    fn arena_of_a_new_block() -> Option<u32> {
        let block = malloc(100_000);
        let arena = arena_of(block);
        // SAFETY: the block is live, from `malloc`, and not used again.
        unsafe { free(block) };
        arena
    }

    /// A block in the tracker's arena, from a thread whose arena is another, of the class that `malloc` gives, and zeroed.
    #[test]
    fn spare_memory_is_the_trackers() {
        std::thread::spawn(use_trackers_arena).join().expect("the thread");
        assert!(keep_spare(1 << 20));
        for (alignment, size) in [(0, 24), (0, 100_000), (4096, 100), (0, 0)] {
            // SAFETY: the alignment is 0 or a power of two; the block is live, has so many bytes, and is not used again.
            unsafe {
                let block = spare(alignment, size);
                assert_eq!(arena_of(block), trackers_arena());
                assert!(block.addr().is_multiple_of(alignment.max(8)));
                assert!((0..size).all(|index| block.add(index).read() == 0));
                if alignment == 0 {
                    assert_eq!(usable(block), je::nallocx(size.max(1), 0));
                }
                free(block);
            }
        }
    }

    #[test]
    fn the_trackers_threads_share_an_arena_that_the_program_does_not_use() {
        let trackers = || {
            use_trackers_arena();
            arena_of_a_new_block()
        };
        let [first, second] = [(); 2].map(|()| std::thread::spawn(trackers).join().expect("the thread"));
        assert_eq!((first, second), (trackers_arena(), trackers_arena()));
        assert!(first.is_some() && arena_of_a_new_block() != first);
    }
}
