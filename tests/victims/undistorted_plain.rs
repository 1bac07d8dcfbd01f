//! The workload of `heap_workload.rs` over plain jemalloc in the tracker's configuration.
use alloc_tracker as _; // its settings of jemalloc, not its allocator
use tikv_jemalloc_sys as je;

#[global_allocator]
static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

mod heap_workload;

struct Plain;

impl heap_workload::C for Plain {
    fn malloc(size: usize) -> *mut u8 {
        // SAFETY: malloc accepts every size.
        unsafe { je::malloc(size) }.cast()
    }

    fn calloc(count: usize, size: usize) -> *mut u8 {
        // SAFETY: calloc accepts every pair.
        unsafe { je::calloc(count, size) }.cast()
    }

    fn aligned(alignment: usize, size: usize) -> *mut u8 {
        // SAFETY: aligned_alloc accepts every power of two.
        unsafe { je::aligned_alloc(alignment, size) }.cast()
    }

    unsafe fn realloc(block: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { je::realloc(block.cast(), size) }.cast()
    }

    unsafe fn free(block: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { je::free(block.cast()) }
    }

    unsafe fn usable(block: *mut u8) -> usize {
        // SAFETY: as the caller promises.
        unsafe { je::malloc_usable_size(block.cast()) }
    }
}

fn main() {
    heap_workload::run::<Plain>();
}
