//! The churn workload over the C library's malloc.
#[global_allocator]
static ALLOC: std::alloc::System = std::alloc::System;

mod churn;
mod stopwatch;

/// `malloc` and `free` of the C library.
struct C;

impl churn::Door for C {
    #[inline(always)]
    fn allocate(bytes: usize) -> *mut u8 {
        // SAFETY: malloc accepts every size.
        unsafe { libc::malloc(bytes) }.cast()
    }

    #[inline(always)]
    unsafe fn free(block: *mut u8, _bytes: usize) {
        // SAFETY: as the caller promises.
        unsafe { libc::free(block.cast()) }
    }
}

fn main() {
    churn::run::<C>(std::env::args().skip(1));
}
