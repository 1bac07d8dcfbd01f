//! Address space from the kernel, for what the tracker keeps about blocks: reserved at once, resident only where
//! touched, and listed so that the book can tell the tracker's pages from the program's.
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many mappings the list holds. A mapping covers 256 MiB of heap or 64 threads, so this is far away.
const MAX_MAPPINGS: usize = 4096;

static STARTS: [AtomicUsize; MAX_MAPPINGS] = [const { AtomicUsize::new(0) }; MAX_MAPPINGS];
static ENDS: [AtomicUsize; MAX_MAPPINGS] = [const { AtomicUsize::new(0) }; MAX_MAPPINGS];
static COUNT: AtomicUsize = AtomicUsize::new(0);
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Maps `bytes` of zeroes that cost nothing until touched. Null when the kernel refuses. Keeps `errno`.
pub fn map_zeroed(bytes: usize) -> *mut u8 {
    // SAFETY: __errno_location returns the calling thread's own errno, valid for the thread's life.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no existing memory.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if start != libc::MAP_FAILED {
        // A huge page would make 2 MiB resident for one entry.
        // SAFETY: the range was mapped just now and is ours alone; the advice changes no content.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    if start == libc::MAP_FAILED {
        REFUSED.store(true, Ordering::Relaxed);
        return ptr::null_mut();
    }
    let index = COUNT.fetch_add(1, Ordering::Relaxed);
    if index < MAX_MAPPINGS {
        ENDS[index].store(start as usize + bytes, Ordering::Relaxed);
        STARTS[index].store(start as usize, Ordering::Release);
    }
    start.cast()
}

/// Whether the kernel ever refused: then there are blocks of ours that carry no tag.
pub fn refused() -> bool {
    REFUSED.load(Ordering::Relaxed)
}

/// Gives back what [`map_zeroed`] gave and nobody else has seen yet.
pub fn unmap(start: *mut u8, bytes: usize) {
    let listed = STARTS.iter().find(|listed| listed.load(Ordering::Relaxed) == start as usize);
    if let Some(listed) = listed {
        listed.store(0, Ordering::Relaxed);
    }
    // SAFETY: the caller got the range from map_zeroed and holds the only pointer into it.
    unsafe { libc::munmap(start.cast(), bytes) };
}

/// The tracker's mappings as (start, end) addresses.
pub fn mappings() -> impl Iterator<Item = (usize, usize)> {
    let count = COUNT.load(Ordering::Relaxed).min(MAX_MAPPINGS);
    (0..count)
        .map(|index| (STARTS[index].load(Ordering::Acquire), ENDS[index].load(Ordering::Relaxed)))
        .filter(|&(start, _)| start != 0)
}
