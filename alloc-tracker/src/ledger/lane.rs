//! The lane: the first 64 bytes of a slot, which is what the hot path uses. Nearly every allocation and free touches nothing else of
//! the ledger.
//!
//! A lane has two packed words (`tag/word.rs`). One counts what the thread allocates in the active scope; the other
//! counts which blocks of one chosen scope it frees. Counting a block is a single addition to one of them. A full word
//! is emptied into the counters of its scope ([`Slot::empty_lane`](super::Slot::empty_lane)).
//!
//! Each addition is a single instruction (or an atomic one), so that nothing is lost when a signal handler interrupts
//! an allocation and allocates itself. A lane that is *closed* takes no block: all blocks then take the cold path
//! (`door/cold.rs`).
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering, compiler_fence};

use alloc_replay::{Counts, ScopeId};

use super::own_word;
use crate::backend::thread_cache::{self, NONE, ThreadCache};
use crate::tag::tiny;
use crate::tag::word::{self, SMALL_MAX};

/// The smallest request that [`Lane::takes`], in bytes; smaller ones have tiny tags, see [`Lane::tiny_entry`].
const SMALLEST: usize = 17;
/// A first entry that no block has: it is not 1 + scope either.
const NO_TAG: u16 = tiny::NONE;

/// What the hot path of one thread reads and writes.
#[derive(Debug)]
#[repr(C)]
pub struct Lane {
    /// How many sizes the lane takes, from [`SMALLEST`] on: 0 while the lane is closed.
    sizes: Cell<usize>,
    /// The active scope's plain tag: 1 + scope.
    tag: Cell<u16>,
    /// The plain tag of the scope whose frees `freed` counts; [`NO_TAG`] while the lane is closed.
    freed_tag: Cell<u16>,
    /// What the word of allocations is charged with while it is charged, see [`Lane::charge`].
    charged: AtomicU16,
    allocated: AtomicU64,
    freed: AtomicU64,
    /// The entries of the active scope's tiny blocks, by requested bytes. (A pointer, because a slot's memory starts as zeroes, which
    /// are no reference.)
    tiny: Cell<*const tiny::Row>,
    /// The same of the scope whose frees `freed` counts. While a thread changes its scope, the lane is closed, but this stays: what a signal
    /// handler frees in that moment is counted in `freed`, whose scope does not change.
    freed_tiny: Cell<*const tiny::Row>,
    /// Where the thread's free blocks are: jemalloc's cache, [`NONE`], or [`UNASKED`]. (A pointer for the same reason.)
    cache: Cell<*const ThreadCache>,
    /// Allocated bytes of which jemalloc's own count does not know yet: those of emptied words, less those of blocks for
    /// which jemalloc was called. (What a signal handler counts between a load and a store of this is lost, and with it
    /// nothing but the exactness of jemalloc's count.)
    untold_allocated: Cell<i64>,
    /// The same of freed bytes.
    untold_freed: Cell<i64>,
}

/// In place of the thread's cache, until jemalloc has been called for a block.
static UNASKED: ThreadCache = ThreadCache::closed();

// SAFETY: the two words are atomics. The cells are read and written only by the thread that owns the slot, and by its
// signal handlers, which leave the cells as they found them; the compiler fences keep the writes in order for the
// handlers. The closed lane that threads without a slot share (`thread_lane.rs`) is never written.
unsafe impl Sync for Lane {}

/// Adds to the word `$field` of a lane; true when the word is full.
macro_rules! add_to_word {
    ($lane:expr, $field:ident, $amount:expr) => {{
        let (lane, amount): (&Lane, u64) = ($lane, $amount);
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the memory is a word of the lane, valid by the reference, and only the thread that owns the lane
            // counts in it. To other threads, which read it as an atomic, the aligned addition looks like a relaxed
            // load and store.
            unsafe {
                std::arch::asm!(
                    "add qword ptr [{lane} + {offset}], {amount}",
                    "js {full}",
                    lane = in(reg) std::ptr::from_ref(lane),
                    offset = const std::mem::offset_of!(Lane, $field),
                    amount = in(reg) amount,
                    full = label { return true },
                    options(nostack),
                );
            }
            false
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            (lane.$field.fetch_add(amount, Ordering::Relaxed).wrapping_add(amount) as i64) < 0
        }
    }};
}

impl Lane {
    /// A closed lane.
    pub const fn closed() -> Self {
        Lane {
            sizes: Cell::new(0),
            tag: Cell::new(0),
            freed_tag: Cell::new(NO_TAG),
            charged: AtomicU16::new(0),
            allocated: AtomicU64::new(0),
            freed: AtomicU64::new(0),
            tiny: Cell::new(&tiny::NO_ROW),
            freed_tiny: Cell::new(&tiny::NO_ROW),
            cache: Cell::new(&NONE),
            untold_allocated: Cell::new(0),
            untold_freed: Cell::new(0),
        }
    }

    /// Whether the lane takes a request of `size` bytes.
    #[inline(always)]
    pub fn takes(&self, size: usize) -> bool {
        size.wrapping_sub(SMALLEST) < self.sizes.get()
    }

    /// Whether the lane is open.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.sizes.get() != 0
    }

    /// The active scope's plain tag: 1 + scope.
    #[inline(always)]
    pub fn tag(&self) -> u16 {
        self.tag.get()
    }

    /// The entry of a tiny block of the active scope for a request of so many bytes, if there is one (see [`tiny::known`]).
    ///
    /// # Safety
    /// The lane must be [`Lane::closed`] or have been opened before, whether it is open now or not; `requested` must be at most
    /// [`TINY_MAX`](tiny::TINY_MAX).
    #[inline(always)]
    pub unsafe fn tiny_entry(&self, requested: usize) -> Option<u16> {
        // SAFETY: `closed` and `open` store pointers to static rows, and nothing takes them away. (In a slot that was never
        // opened the pointer is null.) The size is at most TINY_MAX, as the caller promises.
        unsafe { tiny::known(&*self.tiny.get(), requested) }
    }

    /// Whether the lane counts the frees of blocks with this plain tag.
    #[inline(always)]
    pub fn frees(&self, tag: u16) -> bool {
        self.freed_tag.get() == tag
    }

    /// Whether the lane counts the frees of blocks with this first entry, if it is the tag of a block of natural alignment for
    /// a request of so many bytes. `false` for such a tag that was not the first for its scope and size.
    ///
    /// # Safety
    /// The lane must be the calling thread's; `requested` must be at most [`TINY_MAX`](tiny::TINY_MAX).
    #[inline(always)]
    pub unsafe fn frees_tiny(&self, entry: u16, requested: usize) -> bool {
        // SAFETY: a thread's lane has a pointer to a static row (`closed`, `close_tiny_frees`, `open_frees`). The size is at most
        // TINY_MAX, as the caller promises.
        entry == unsafe { tiny::in_row(&*self.freed_tiny.get(), requested) }
    }

    /// Counts an allocation in the active scope. True when the word must be emptied.
    #[inline(always)]
    pub fn add_allocated(&self, amount: u64) -> bool {
        add_to_word!(self, allocated, amount)
    }

    /// Counts a free of a block for which [`Lane::frees`] holds. True when the word must be emptied.
    #[inline(always)]
    pub fn add_freed(&self, amount: u64) -> bool {
        add_to_word!(self, freed, amount)
    }

    /// Closes the lane, until [`Lane::open`].
    pub fn close(&self) {
        self.sizes.set(0);
        self.close_frees();
    }

    /// Opens the lane, for allocations in `scope` and for frees of blocks that the scope `freed` owns.
    pub fn open(&self, scope: ScopeId, freed: ScopeId) {
        compiler_fence(Ordering::SeqCst);
        self.tag.set(scope + 1);
        self.tiny.set(tiny::row(scope));
        self.freed_tag.set(freed + 1);
        compiler_fence(Ordering::SeqCst);
        self.sizes.set(SMALL_MAX + 1 - SMALLEST);
        compiler_fence(Ordering::SeqCst);
    }

    /// Closes the lane for frees of all but tiny blocks.
    fn close_frees(&self) {
        self.freed_tag.set(NO_TAG);
        compiler_fence(Ordering::SeqCst);
    }

    /// Closes the lane for frees of tiny blocks.
    pub fn close_tiny_frees(&self) {
        self.freed_tiny.set(&tiny::NO_ROW);
        compiler_fence(Ordering::SeqCst);
    }

    /// Closes the lane for frees of all blocks.
    pub fn close_all_frees(&self) {
        self.close_frees();
        self.close_tiny_frees();
    }

    /// Opens the lane for frees of blocks that `scope` owns.
    pub fn open_frees(&self, scope: ScopeId) {
        compiler_fence(Ordering::SeqCst);
        self.freed_tag.set(scope + 1);
        self.freed_tiny.set(tiny::row_of_frees(scope));
        compiler_fence(Ordering::SeqCst);
    }

    /// The thread's cache. To be called by a thread for its own lane.
    #[inline(always)]
    pub fn cache(&self) -> &'static ThreadCache {
        // SAFETY: the pointer is to a static, or to memory of the thread whose lane this is; `leave_cache` takes it away
        // before the thread ends.
        unsafe { &*self.cache.get() }
    }

    /// Forgets the thread's cache. The lane must be a slot's.
    pub fn leave_cache(&self) {
        self.cache.set(&UNASKED);
        self.untold_allocated.set(0);
        self.untold_freed.set(0);
    }

    /// Notes that jemalloc was called for a block of so many usable bytes, which the word of allocations counts.
    pub fn called_for_block(&self, usable: usize) {
        add(&self.untold_allocated, -(usable as i64));
        if ptr::eq(self.cache.get(), &UNASKED) {
            self.cache.set(thread_cache::own());
        }
    }

    /// Notes that jemalloc was called to free a block of so many usable bytes, which the word of frees counts.
    pub fn called_for_free(&self, usable: usize) {
        add(&self.untold_freed, -(usable as i64));
    }

    /// Notes that no word counts a block of so many usable bytes, which came from the cache or from a call.
    pub fn counted_elsewhere(&self, usable: usize) {
        add(&self.untold_allocated, usable as i64);
    }

    /// Empties the word of allocations and returns what it held. To be called by the thread whose lane it is, or while
    /// nobody has it.
    #[inline(always)]
    pub fn take_allocated(&self) -> Counts {
        let counts = self.allocations(own_word::take(&self.allocated));
        tell(&self.untold_allocated, counts.allocated, |bytes| self.cache().add_allocated(bytes));
        counts
    }

    /// Charges the word of allocations, which was emptied just before, with so many usable bytes: it will be full so many bytes
    /// earlier. To be called by the thread whose lane it is, and not by a signal handler that has interrupted this.
    #[cfg(feature = "stacks")]
    pub fn charge(&self, bytes: u16) {
        self.charged.store(bytes, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        own_word::add(&self.allocated, word::charge(bytes));
    }

    /// Whether the word of allocations holds any.
    #[inline(always)]
    pub fn has_allocated(&self) -> bool {
        word::has_blocks(self.allocated.load(Ordering::Relaxed))
    }

    /// Whether the word of frees holds any.
    #[inline(always)]
    pub fn has_freed(&self) -> bool {
        self.freed.load(Ordering::Relaxed) != 0
    }

    /// Empties the word of frees and returns what it held. As for [`Lane::take_allocated`].
    #[inline(always)]
    pub fn take_freed(&self) -> Counts {
        let counts = frees(own_word::take(&self.freed));
        tell(&self.untold_freed, counts.freed, |bytes| self.cache().add_freed(bytes));
        counts
    }

    /// What the two words hold: allocations, and frees. Any thread may call this.
    pub fn peek(&self) -> (Counts, Counts) {
        (self.allocations(self.allocated.load(Ordering::Relaxed)), frees(self.freed.load(Ordering::Relaxed)))
    }

    #[inline(always)]
    fn allocations(&self, word: u64) -> Counts {
        let word = word::unpack(word, self.charged.load(Ordering::Relaxed));
        Counts { allocated: word.usable, requested: word.requested, allocations: word.blocks, ..Counts::default() }
    }
}

fn add(sum: &Cell<i64>, bytes: i64) {
    sum.set(sum.get().wrapping_add(bytes));
}

/// Has jemalloc count the bytes of a word, and those of which it did not know before, as many as `count` takes.
#[inline(always)]
fn tell(untold: &Cell<i64>, bytes: u64, count: impl FnOnce(u64) -> u64) {
    add(untold, bytes as i64);
    if untold.get() > 0 {
        add(untold, -(count(untold.get() as u64) as i64));
    }
}

#[inline(always)]
fn frees(word: u64) -> Counts {
    let word = word::unpack(word, 0);
    Counts { freed: word.usable, requested_freed: word.requested, frees: word.blocks, ..Counts::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of 8 bytes, which fill a word after 4,096, and of the largest size, which fill it after 3.
    #[test]
    fn a_full_word_says_so_and_is_emptied_once() {
        for (size, blocks) in [(8, 4_096), (SMALL_MAX, 3)] {
            let lane = Lane::closed();
            for block in 1..=blocks {
                assert_eq!(lane.add_allocated(word::amount(size, size)), block == blocks, "{block}");
            }
            let bytes = blocks * size as u64;
            let expected = Counts { allocated: bytes, requested: bytes, allocations: blocks, ..Counts::default() };
            assert_eq!(lane.take_allocated(), expected);
            assert_eq!(lane.take_allocated(), Counts::default());
        }
    }

    #[test]
    fn sizes_that_the_lane_takes() {
        let lane = Lane::closed();
        assert!([0, 16, 17, SMALL_MAX, usize::MAX].into_iter().all(|size| !lane.takes(size)));
        lane.open(5, 6);
        assert!([17, 18, SMALL_MAX].into_iter().all(|size| lane.takes(size)));
        assert!([0, 1, 16, SMALL_MAX + 1, usize::MAX].into_iter().all(|size| !lane.takes(size)));
        assert!(lane.frees(7) && !lane.frees(6) && lane.tag() == 6);
    }
}
