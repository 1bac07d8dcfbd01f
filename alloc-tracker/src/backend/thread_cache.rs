//! jemalloc's cache of a thread, reached without a call. The hot path takes a free block from it and gives one back as
//! jemalloc's own fast path does, under the same conditions, and calls jemalloc where that would leave its fast path.
//!
//! The cache is jemalloc's and stays so: which blocks it has and how many, when it is filled, flushed, thinned out,
//! given back at a thread's end or taken over by a forked child, and what jemalloc's statistics say of it. What the hot
//! path saves is what it does itself anyway: it knows the size class from the table that the tag is made with, the lane
//! leads to the cache, and the lane's words count the bytes, which jemalloc's two counts get in one addition for all blocks
//! of a word.
//!
//! ```text
//! thread.allocatedp ->    0  bytes allocated           a bin, 24 bytes, for each size class:
//!                         8  its next event, or 0        0  head: where the address of the next free block stands
//! thread.deallocatedp -> 16  bytes freed                 8  requests so far
//!                        24  its next event, or 0       16  low water, full, empty: the low 16 bits of addresses
//!                        32  (a pointer)                22  how many blocks the bin may have
//!                        40  bins
//!
//! the stack of a bin:   full ... room ... | head ... free blocks ... low water ... | empty       (it grows down)
//! ```
//!
//! jemalloc calls an event when so many bytes have been allocated or freed, for example to thin out the cache. The next
//! event is 0 while jemalloc must be called for every block: in the middle of jemalloc's own work, at the thread's end,
//! without a cache. An event that is due is made such a case ([`ThreadCache::add_allocated`]), so that one comparison
//! tells all of them.
//!
//! jemalloc(3) documents the two addresses, but not what lies behind them: so it is in version 5.3.1 (`tsd_internals.h`,
//! `tcache_structs.h`, `cache_bin.h`). Therefore [`own`] looks before it trusts: at the version, the distance of the two
//! addresses, the numbers of every bin, and once in a process at where a freed block goes. Where one is not as
//! expected, the thread gets [`NONE`], and jemalloc is called for every block.
use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, AtomicUsize, Ordering};

use tikv_jemalloc_sys as je;

use super::jemalloc;
use crate::settings::wants_calls;

/// How many size classes a thread's cache has for blocks of at most 14,336 bytes.
const BINS: usize = 36;
/// The version of jemalloc whose caches look as said above.
const VERSION: &CStr = c"5.3.1";
/// The distance of `thread.deallocatedp` from `thread.allocatedp`.
const DISTANCE: usize = std::mem::offset_of!(ThreadCache, freed);
const ADDRESS: usize = size_of::<*mut u8>();

/// The free blocks of one size class (`cache_bin_t`).
#[derive(Debug)]
#[repr(C)]
struct Bin {
    head: AtomicUsize,
    requests: AtomicU64,
    low_water: AtomicU16,
    full: AtomicU16,
    empty: AtomicU16,
    most: AtomicU16,
}

/// A thread's counters and cache, as jemalloc has them (`tsd_t`, from `thread_allocated` on). Only the thread writes
/// them, but for the two next events, which another thread may set to 0.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadCache {
    allocated: AtomicU64,
    allocation_event: AtomicU64,
    freed: AtomicU64,
    free_event: AtomicU64,
    _slow: AtomicUsize,
    bins: [Bin; BINS],
}

/// A cache that never has a block and never has room.
pub static NONE: ThreadCache = ThreadCache::closed();

/// Where the bin of a size class, counted from the smallest, lies in a [`ThreadCache`]: in steps of 8 bytes.
pub const fn place_of_bin(class: usize) -> u8 {
    assert!(class < BINS);
    ((std::mem::offset_of!(ThreadCache, bins) + class * size_of::<Bin>()) / 8) as u8
}

impl Bin {
    const fn closed() -> Self {
        Bin {
            head: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            low_water: AtomicU16::new(0),
            full: AtomicU16::new(0),
            empty: AtomicU16::new(0),
            most: AtomicU16::new(0),
        }
    }

    /// Whether the numbers can be those of a bin: the stack has at most as many places as the bin may have blocks, and
    /// head and low water lie in it, in this order.
    fn is_plausible(&self) -> bool {
        let head = self.head.load(Ordering::Relaxed);
        let empty = self.empty.load(Ordering::Relaxed);
        let below_empty = |bits: u16| usize::from(empty.wrapping_sub(bits));
        let places = below_empty(self.full.load(Ordering::Relaxed));
        let blocks = below_empty(head as u16);
        head != 0
            && head.is_multiple_of(ADDRESS)
            && places.is_multiple_of(ADDRESS)
            && places <= usize::from(self.most.load(Ordering::Relaxed)) * ADDRESS
            && blocks <= places
            && below_empty(self.low_water.load(Ordering::Relaxed)) <= blocks
    }
}

impl ThreadCache {
    /// A cache like [`NONE`].
    pub const fn closed() -> Self {
        ThreadCache {
            allocated: AtomicU64::new(0),
            allocation_event: AtomicU64::new(0),
            freed: AtomicU64::new(0),
            free_event: AtomicU64::new(0),
            _slow: AtomicUsize::new(0),
            bins: [const { Bin::closed() }; BINS],
        }
    }

    /// # Safety
    /// `place` must be one of [`place_of_bin`].
    #[inline(always)]
    unsafe fn bin(&self, place: u8) -> &Bin {
        // SAFETY: the caller promises that a bin begins there, inside of this value.
        unsafe { &*ptr::from_ref(self).cast::<u64>().add(usize::from(place)).cast::<Bin>() }
    }

    /// Takes a free block of a size class. `None` when jemalloc must be called for one.
    ///
    /// # Safety
    /// `place` must be one of [`place_of_bin`], and the cache the calling thread's own, or [`ThreadCache::closed`].
    #[inline(always)]
    pub unsafe fn take(&self, place: u8) -> Option<*mut u8> {
        if self.allocation_event.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // SAFETY: as the caller promises.
        let bin = unsafe { self.bin(place) };
        let head = bin.head.load(Ordering::Relaxed);
        if head as u16 == bin.low_water.load(Ordering::Relaxed) {
            if head as u16 == bin.empty.load(Ordering::Relaxed) {
                return None;
            }
            bin.low_water.store((head + ADDRESS) as u16, Ordering::Relaxed);
        }
        // SAFETY: the bin is the calling thread's, and its head is not at the empty end, beyond which low water is never: so
        // the address of a free block stands there.
        let block = unsafe { *ptr::with_exposed_provenance::<*mut u8>(head) };
        bin.head.store(head + ADDRESS, Ordering::Relaxed);
        bin.requests.store(bin.requests.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        Some(block)
    }

    /// Gives back a block of a size class. `false` when jemalloc must be called for that.
    ///
    /// # Safety
    /// As for [`ThreadCache::take`]; `block` must be live, of this backend and of this class, and is gone after `true`.
    #[inline(always)]
    #[must_use]
    pub unsafe fn give(&self, place: u8, block: *mut u8) -> bool {
        if self.free_event.load(Ordering::Relaxed) == 0 {
            return false;
        }
        // SAFETY: as the caller promises.
        let bin = unsafe { self.bin(place) };
        let head = bin.head.load(Ordering::Relaxed);
        if head as u16 == bin.full.load(Ordering::Relaxed) {
            return false;
        }
        bin.head.store(head - ADDRESS, Ordering::Relaxed);
        // SAFETY: the bin is the calling thread's and not full: there is room for an address below its head.
        unsafe { ptr::with_exposed_provenance_mut::<*mut u8>(head - ADDRESS).write(block) };
        true
    }

    /// Adds to jemalloc's count of allocated bytes, and returns how many it took. It takes none beyond the next event: then
    /// this has jemalloc called for the next block, which calls the event. The cache must be the calling thread's own.
    pub fn add_allocated(&self, bytes: u64) -> u64 {
        add(&self.allocated, &self.allocation_event, bytes)
    }

    /// [`ThreadCache::add_allocated`] for freed bytes, and for the next free.
    pub fn add_freed(&self, bytes: u64) -> u64 {
        add(&self.freed, &self.free_event, bytes)
    }

    /// Whether jemalloc lets the thread use its fast path.
    fn is_open(&self) -> bool {
        self.allocation_event.load(Ordering::Relaxed) != 0 && self.free_event.load(Ordering::Relaxed) != 0
    }
}

/// Adds to one of jemalloc's counts, which must stay below its next event. (jemalloc notices that an event is due when a
/// block's bytes carry the count beyond it.)
fn add(count: &AtomicU64, event: &AtomicU64, bytes: u64) -> u64 {
    let (before, limit) = (count.load(Ordering::Relaxed), event.load(Ordering::Relaxed));
    if limit == 0 {
        return 0;
    }
    let room = limit.saturating_sub(before).saturating_sub(1);
    count.store(before + bytes.min(room), Ordering::Relaxed);
    if bytes > room {
        event.store(0, Ordering::Relaxed);
    }
    bytes.min(room)
}

/// What is known of jemalloc in this process: nothing yet, that its caches are as expected, or that they are not to be
/// used.
static LAYOUT: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const EXPECTED: u8 = 1;
const UNEXPECTED: u8 = 2;

/// The calling thread's cache; [`NONE`] when it has none (`tcache:false`), when the environment wants jemalloc to be
/// called, and when jemalloc is not as expected. To be called when the thread has just got a block from jemalloc.
pub fn own() -> &'static ThreadCache {
    let layout = LAYOUT.load(Ordering::Relaxed);
    if layout == UNEXPECTED || layout == UNKNOWN && (wants_calls() || !has_version()) {
        LAYOUT.store(UNEXPECTED, Ordering::Relaxed);
        return &NONE;
    }
    let Some(cache) = find().filter(|cache| cache.is_open()) else { return &NONE };
    let expected = cache.bins.iter().all(Bin::is_plausible) && (layout == EXPECTED || gets_what_is_freed(cache));
    LAYOUT.store(if expected { EXPECTED } else { UNEXPECTED }, Ordering::Relaxed);
    if expected { cache } else { &NONE }
}

fn has_version() -> bool {
    control::<*const libc::c_char>(c"version").is_some_and(|version| {
        // SAFETY: jemalloc's version is a C string, valid for ever.
        unsafe { CStr::from_ptr(version) }.to_bytes().starts_with(VERSION.to_bytes())
    })
}

/// What lies at the two addresses that jemalloc tells of the calling thread, if they lie as expected.
fn find() -> Option<&'static ThreadCache> {
    let allocated: *mut u64 = control(c"thread.allocatedp")?;
    let freed: *mut u64 = control(c"thread.deallocatedp")?;
    // SAFETY: the version is the expected one, and so is the distance. The memory is the thread's own and stays as long
    // as the thread, which is as long as anybody uses the reference (`ledger/thread.rs`).
    (freed == allocated.wrapping_byte_add(DISTANCE)).then(|| unsafe { &*allocated.cast() })
}

/// Whether a freed block goes to the head of its bin.
fn gets_what_is_freed(cache: &ThreadCache) -> bool {
    // Blocks of 16 bytes, which every program has.
    const SIZE: usize = 16;
    let block = jemalloc::malloc(SIZE);
    // SAFETY: the block is live, of this size, and not used again.
    unsafe { jemalloc::free_sized(block, SIZE) };
    let head = cache.bins[1].head.load(Ordering::Relaxed);
    // SAFETY: the bin is plausible, so that its head points into a stack of addresses, of which there is at least one,
    // or to the place behind it, which jemalloc's stacks have as well.
    let found = unsafe { *ptr::with_exposed_provenance::<*mut u8>(head) };
    !block.is_null() && found == block
}

/// One of jemalloc's values, a pointer.
fn control<T: Copy>(name: &CStr) -> Option<T> {
    let mut value = std::mem::MaybeUninit::<T>::uninit();
    let mut bytes = size_of::<T>();
    // SAFETY: the name is a C string; jemalloc writes at most `bytes` bytes, and fails for a value of another size.
    let failed = unsafe { je::mallctl(name.as_ptr(), value.as_mut_ptr().cast(), &mut bytes, ptr::null_mut(), 0) };
    // SAFETY: the callers' values are pointers, and jemalloc has written one.
    (failed == 0).then(|| unsafe { value.assume_init() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A size whose bin nothing else in a test's thread uses, and its class: 8, eight multiples of 16, and 160.
    const SIZE: usize = 160;
    const CLASS: usize = 9;

    fn in_a_new_thread(work: impl FnOnce(&ThreadCache) + Send + 'static) {
        let run = move || {
            // SAFETY: the block is live, of this size, and not used again.
            unsafe { jemalloc::free_sized(jemalloc::malloc(SIZE), SIZE) };
            work(own());
        };
        std::thread::spawn(run).join().expect("the thread");
    }

    /// If this fails after jemalloc was updated: the layout has changed, and the tracker is correct but slower.
    #[test]
    fn the_jemalloc_that_is_built_is_the_expected_one() {
        in_a_new_thread(|cache| assert!(!ptr::eq(cache, &NONE)));
    }

    #[test]
    fn what_is_given_is_what_jemalloc_hands_out_and_the_other_way_round() {
        in_a_new_thread(|cache| {
            let (place, block) = (place_of_bin(CLASS), jemalloc::malloc(SIZE));
            // SAFETY: the place is this size's, the cache the thread's own, and each block is live when it is given.
            unsafe {
                assert!(cache.give(place, block));
                assert_eq!(jemalloc::malloc(SIZE), block);
                jemalloc::free_sized(block, SIZE);
                assert_eq!(cache.take(place), Some(block));
                assert!(cache.give(place, block));
            }
        });
    }

    /// jemalloc's default cache has at most 200 blocks of a class: after those there is no room, and without them none
    /// to take.
    #[test]
    fn a_bin_ends_where_jemallocs_ends() {
        in_a_new_thread(|cache| {
            let place = place_of_bin(CLASS);
            let mut blocks: Vec<*mut u8> = (0..1000).map(|_| jemalloc::malloc(SIZE)).collect();
            // SAFETY: as above.
            unsafe {
                while let Some(block) = cache.take(place) {
                    blocks.push(block);
                }
                let before = blocks.len();
                assert!(before >= 1000);
                while blocks.last().is_some_and(|&block| cache.give(place, block)) {
                    blocks.pop();
                }
                assert!((20..=200).contains(&(before - blocks.len())), "{} went in", before - blocks.len());
                blocks.into_iter().for_each(|block| jemalloc::free_sized(block, SIZE));
            }
        });
    }

    #[test]
    fn a_closed_cache_has_no_block_and_no_room() {
        let mut block = 0u64;
        for class in 0..BINS {
            let place = place_of_bin(class);
            // SAFETY: the cache is closed, so that nothing is done with the block.
            unsafe { assert!(NONE.take(place).is_none() && !NONE.give(place, (&raw mut block).cast())) };
        }
    }
}
