//! The part of a slot that nearly every allocation and free touches, and nothing else: 40 bytes.
//!
//! One 64-bit word gathers what was allocated in the active scope, and one what was freed of one scope, each with a
//! single addition:
//!
//! ```text
//!  63      48 47      34 33     24 23                0
//! +----------+----------+---------+-------------------+
//! |  usable  |  blocks  |  long   | requested + layer |     bytes, count, count, bytes
//! +----------+----------+---------+-------------------+
//! ```
//!
//! The usable bytes stand at the top, so that the sign says when they have reached 32 KiB: the word is then emptied into
//! the scope's counters ([`Slot::gather`](super::slot::Slot::gather)). A block adds at most 14,336 usable bytes, and
//! never fewer than it was asked for, so that no field can run over into the next before that. The lowest bits of what a
//! block adds are also the layer of its tag, 4 or 6, which spares the hot path to compute that; how many blocks were long,
//! and so had a 6, tells what to take off again.
//!
//! The additions are single instructions (or atomic ones), so that a signal handler that allocates in the middle of an
//! allocation loses nothing.
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use super::totals::Counts;
use crate::tag::class::SMALL_MAX;
use crate::tag::scope::ScopeId;
use crate::tag::shadow::{COARSE, FINE, layer_of};
use crate::tag::tiny;

/// Usable bytes at which a word asks to be emptied.
pub const WORD_LIMIT: i64 = 1 << (63 - USABLE_SHIFT);
const USABLE_SHIFT: u32 = 48;
const BLOCKS_SHIFT: u32 = 34;
const LONG_SHIFT: u32 = 24;
// All blocks of 8 bytes and the last, the largest; all blocks of the shortest that is long, and the last.
const _: () = assert!(WORD_LIMIT / 8 + 1 < 1 << (USABLE_SHIFT - BLOCKS_SHIFT));
const _: () = assert!(WORD_LIMIT / 128 + 1 < 1 << (BLOCKS_SHIFT - LONG_SHIFT));
const _: () = assert!(WORD_LIMIT + SMALL_MAX as i64 + (WORD_LIMIT / 8 + 1) * (COARSE as i64) < 1 << LONG_SHIFT);
/// The smallest request that goes this way; smaller ones have tags of another kind.
const SMALLEST: usize = 17;
/// A tag that no block has: the numbers of tiny tags end before it.
const NO_TAG: u16 = u16::MAX;

/// What the hot path of one thread reads and writes.
#[derive(Debug)]
#[repr(C)]
pub struct Lane {
    /// How many sizes from [`SMALLEST`] on go this way: none while the lane is closed.
    sizes: Cell<usize>,
    /// The active scope's tag.
    tag: Cell<u16>,
    /// The tag of the scope whose frees `freed` gathers; while the lane is closed, one that no block has.
    freed_tag: Cell<u16>,
    allocated: AtomicU64,
    freed: AtomicU64,
    /// The active scope's tags of tiny blocks.
    tiny: Cell<&'static tiny::Row>,
}

// SAFETY: the two words are atomics. The cells are read and written by the thread that owns the lane, and by its signal
// handlers, which leave them as they found them; the fences keep the order of the writes for them. Nobody writes to the
// closed lane that threads without a slot share.
unsafe impl Sync for Lane {}

/// What one block adds to a word.
#[inline(always)]
pub const fn amount(usable: usize, requested: usize) -> u64 {
    let layer = layer_of(requested);
    let long = (layer == COARSE) as u64;
    ((usable as u64) << USABLE_SHIFT | 1 << BLOCKS_SHIFT | long << LONG_SHIFT | layer as u64) + requested as u64
}

/// The usable bytes of an [`amount`].
pub const fn usable(amount: u64) -> usize {
    (amount >> USABLE_SHIFT) as usize
}

/// Adds to the word at `$field` of a lane; true when it has reached its limit.
macro_rules! add_to_word {
    ($lane:expr, $field:ident, $amount:expr) => {{
        let (lane, amount): (&Lane, u64) = ($lane, $amount);
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the memory is the lane's own word, which this thread alone writes and others read as an atomic; a
            // plain addition in memory is one instruction, as good as a relaxed load and store to them.
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
    /// A lane on which nothing goes.
    pub const fn closed() -> Self {
        Lane {
            sizes: Cell::new(0),
            tag: Cell::new(0),
            freed_tag: Cell::new(NO_TAG),
            allocated: AtomicU64::new(0),
            freed: AtomicU64::new(0),
            tiny: Cell::new(&tiny::NO_ROW),
        }
    }

    /// Whether a request of `size` bytes goes this way.
    #[inline(always)]
    pub fn takes(&self, size: usize) -> bool {
        size.wrapping_sub(SMALLEST) < self.sizes.get()
    }

    /// Whether anything goes this way.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.sizes.get() != 0
    }

    /// The active scope's tag.
    #[inline(always)]
    pub fn tag(&self) -> u16 {
        self.tag.get()
    }

    /// The tag of a tiny block of the active scope, if it has one; `requested` must be at most 16.
    #[inline(always)]
    pub fn tiny_tag(&self, requested: usize) -> Option<u16> {
        tiny::known(self.tiny.get(), requested)
    }

    /// Whether frees of blocks with this tag are counted here now.
    #[inline(always)]
    pub fn frees(&self, tag: u16) -> bool {
        self.freed_tag.get() == tag
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

    /// Sends everything the other way, until [`Lane::open`].
    pub fn close(&self) {
        self.sizes.set(0);
        self.close_frees();
    }

    /// Takes allocations in `scope` and frees of `freed`.
    pub fn open(&self, scope: ScopeId, freed: ScopeId) {
        compiler_fence(Ordering::SeqCst);
        self.tag.set(scope + 1);
        self.tiny.set(tiny::row(scope));
        self.freed_tag.set(freed + 1);
        compiler_fence(Ordering::SeqCst);
        self.sizes.set(SMALL_MAX + 1 - SMALLEST);
        compiler_fence(Ordering::SeqCst);
    }

    /// Takes no frees until it is opened again.
    pub fn close_frees(&self) {
        self.freed_tag.set(NO_TAG);
        compiler_fence(Ordering::SeqCst);
    }

    /// Takes frees of `scope`.
    pub fn open_frees(&self, scope: ScopeId) {
        compiler_fence(Ordering::SeqCst);
        self.freed_tag.set(scope + 1);
        compiler_fence(Ordering::SeqCst);
    }

    /// Empties the word of allocations.
    pub fn take_allocated(&self) -> Counts {
        let [allocated, requested, allocations] = unpack(self.allocated.swap(0, Ordering::Relaxed));
        Counts { allocated, requested, allocations, ..Counts::default() }
    }

    /// Whether any frees are gathered.
    pub fn has_freed(&self) -> bool {
        self.freed.load(Ordering::Relaxed) != 0
    }

    /// Empties the word of frees.
    pub fn take_freed(&self) -> Counts {
        let [freed, requested_freed, frees] = unpack(self.freed.swap(0, Ordering::Relaxed));
        Counts { freed, requested_freed, frees, ..Counts::default() }
    }

    /// What the two words hold, for other threads.
    pub fn peek(&self) -> [Counts; 2] {
        let [allocated, requested, allocations] = unpack(self.allocated.load(Ordering::Relaxed));
        let [freed, requested_freed, frees] = unpack(self.freed.load(Ordering::Relaxed));
        [
            Counts { allocated, requested, allocations, ..Counts::default() },
            Counts { freed, requested_freed, frees, ..Counts::default() },
        ]
    }
}

/// Usable bytes, requested bytes, blocks.
fn unpack(word: u64) -> [u64; 3] {
    let field = |shift: u32, end: u32| word >> shift & ((1 << (end - shift)) - 1);
    let (blocks, long) = (field(BLOCKS_SHIFT, USABLE_SHIFT), field(LONG_SHIFT, BLOCKS_SHIFT));
    let layers = blocks * u64::from(FINE) + long * u64::from(COARSE - FINE);
    [word >> USABLE_SHIFT, field(0, LONG_SHIFT) - layers, blocks]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_gives_back_what_was_added_until_it_is_full() {
        for (usable, requested) in [(8, 0), (8, 8), (32, 17), (SMALL_MAX, SMALL_MAX)] {
            let lane = Lane::closed();
            let mut blocks = 0;
            loop {
                let full = lane.add_allocated(amount(usable, requested));
                blocks += 1;
                assert_eq!(full, blocks * usable >= WORD_LIMIT as usize);
                if full {
                    break;
                }
            }
            let [whole, asked, count] = [usable, requested, 1].map(|each| (each * blocks) as u64);
            let expected = Counts { allocated: whole, requested: asked, allocations: count, ..Counts::default() };
            assert_eq!(lane.take_allocated(), expected);
            assert_eq!(lane.take_allocated(), Counts::default());
        }
    }

    #[test]
    fn sizes_that_go_this_way() {
        let lane = Lane::closed();
        assert!([0, 16, 17, SMALL_MAX, usize::MAX].into_iter().all(|size| !lane.takes(size)));
        lane.open(5, 6);
        assert!([17, 18, SMALL_MAX].into_iter().all(|size| lane.takes(size)));
        assert!([0, 1, 16, SMALL_MAX + 1, usize::MAX].into_iter().all(|size| !lane.takes(size)));
        assert!(lane.frees(7) && !lane.frees(6) && lane.tag() == 6);
    }
}
