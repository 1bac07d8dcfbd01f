//! The churn workload over plain jemalloc in the tracker's configuration.
use alloc_tracker as _; // its settings of jemalloc, not its allocator

use tikv_jemalloc_sys as je;

#[global_allocator]
static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

mod churn;
mod stopwatch;

/// jemalloc's own `malloc` and `free`, by their prefixed names.
struct C;

impl churn::Door for C {
    #[inline(always)]
    fn allocate(bytes: usize) -> *mut u8 {
        // SAFETY: malloc accepts every size.
        unsafe { je::malloc(bytes) }.cast()
    }

    #[inline(always)]
    unsafe fn free(block: *mut u8, _bytes: usize) {
        // SAFETY: as the caller promises.
        unsafe { je::free(block.cast()) }
    }
}

fn main() {
    churn::run::<C>(std::env::args().skip(1));
}
