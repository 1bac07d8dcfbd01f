//! The workload of `heap_workload.rs` over the tracker, both doors.
use alloc_interpose as _;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

mod heap_workload;

struct Tracked;

impl heap_workload::C for Tracked {
    fn malloc(size: usize) -> *mut u8 {
        // SAFETY: malloc accepts every size.
        unsafe { libc::malloc(size) }.cast()
    }

    fn calloc(count: usize, size: usize) -> *mut u8 {
        // SAFETY: calloc accepts every pair.
        unsafe { libc::calloc(count, size) }.cast()
    }

    fn aligned(alignment: usize, size: usize) -> *mut u8 {
        // SAFETY: aligned_alloc accepts every power of two.
        unsafe { libc::aligned_alloc(alignment, size) }.cast()
    }

    unsafe fn realloc(block: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { libc::realloc(block.cast(), size) }.cast()
    }

    unsafe fn free(block: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { libc::free(block.cast()) }
    }

    unsafe fn usable(block: *mut u8) -> usize {
        // SAFETY: as the caller promises.
        unsafe { libc::malloc_usable_size(block.cast()) }
    }
}

fn main() {
    heap_workload::run::<Tracked>();
}
