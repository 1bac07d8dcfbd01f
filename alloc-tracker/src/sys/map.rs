//! Address space from the kernel for the tracker's own tables. A mapping is reserved as a whole; a page of it becomes
//! resident when it is first touched. All mappings are listed, so that the account of the resident set can tell the
//! tracker's pages from the program's.
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use super::errno::preserving_errno;
use super::page::page_bytes;

/// How many mappings the list holds. One mapping serves 256 MiB of heap or 64 threads, so no program comes near this.
const MAX_MAPPINGS: usize = 4096;

static STARTS: [AtomicUsize; MAX_MAPPINGS] = [const { AtomicUsize::new(0) }; MAX_MAPPINGS];
static ENDS: [AtomicUsize; MAX_MAPPINGS] = [const { AtomicUsize::new(0) }; MAX_MAPPINGS];
static COUNT: AtomicUsize = AtomicUsize::new(0);
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Maps `bytes` zeroes, which take no physical memory until they are touched. Null when the kernel refuses. Keeps
/// `errno`.
pub fn map_zeroed(bytes: usize) -> *mut u8 {
    let start = preserving_errno(|| map_anonymous(bytes));
    if start.is_null() {
        REFUSED.store(true, Ordering::Relaxed);
        return start;
    }
    let index = COUNT.fetch_add(1, Ordering::Relaxed);
    if index < MAX_MAPPINGS {
        ENDS[index].store(start.addr() + bytes, Ordering::Relaxed);
        STARTS[index].store(start.addr(), Ordering::Release);
    }
    start
}

fn map_anonymous(bytes: usize) -> *mut u8 {
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
    if start == libc::MAP_FAILED {
        return ptr::null_mut();
    }
    // Otherwise the first touched entry could make a huge page of 2 MiB resident.
    keep_pages_small(start.addr(), start.addr() + bytes);
    start.cast()
}

/// Sees to it that the kernel makes no huge page of what lies on the pages from `start` to `end`, addresses of live memory. Keeps `errno`,
/// which a kernel without huge pages would set.
pub fn keep_pages_small(start: usize, end: usize) {
    let first = start / page_bytes() * page_bytes();
    // SAFETY: the advice changes no content.
    preserving_errno(|| unsafe {
        libc::madvise(ptr::with_exposed_provenance_mut(first), end - first, libc::MADV_NOHUGEPAGE)
    });
}

/// Whether the kernel has ever refused a mapping. If it has, some of the tracker's blocks may have no tag.
pub fn refused() -> bool {
    REFUSED.load(Ordering::Relaxed)
}

/// The mapping that `place` points to. If `place` is null, it gets a new mapping of `bytes` zeroes, which then stays
/// for ever. When two threads do this at the same time, both get the mapping of the faster one. Null when the kernel
/// refuses.
pub fn get_or_map<T>(place: &AtomicPtr<T>, bytes: usize) -> *mut T {
    let present = place.load(Ordering::Acquire);
    if !present.is_null() {
        return present;
    }
    let fresh = map_zeroed(bytes).cast::<T>();
    if fresh.is_null() {
        return place.load(Ordering::Acquire);
    }
    match place.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => fresh,
        Err(faster) => {
            // SAFETY: the range is that of `map_zeroed` above, and nobody else was given its address.
            unsafe { unmap(fresh.cast(), bytes) };
            faster
        }
    }
}

/// Unmaps what [`map_zeroed`] returned, when another thread was faster to install a mapping for the same purpose.
///
/// # Safety
/// `start` must come from [`map_zeroed`] with the same `bytes`, and be the only pointer to the range.
pub unsafe fn unmap(start: *mut u8, bytes: usize) {
    let listed = STARTS.iter().find(|listed| listed.load(Ordering::Relaxed) == start.addr());
    if let Some(listed) = listed {
        listed.store(0, Ordering::Relaxed);
    }
    // SAFETY: as the caller promises.
    unsafe { libc::munmap(start.cast(), bytes) };
}

/// The tracker's mappings as (start, end) addresses.
pub fn mappings() -> impl Iterator<Item = (usize, usize)> {
    let count = COUNT.load(Ordering::Relaxed).min(MAX_MAPPINGS);
    (0..count)
        .map(|index| (STARTS[index].load(Ordering::Acquire), ENDS[index].load(Ordering::Relaxed)))
        .filter(|&(start, _)| start != 0)
}
