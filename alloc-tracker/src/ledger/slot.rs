//! A slot: one thread's part of the ledger.
//!
//! ```text
//! lane (two words) --32 KiB, or another scope--> counters (by scope) --deviation of 32 KiB--> published
//! ```
//!
//! Where stacks are sampled rarely, the lane's word of allocations is charged: so much that it is full with the block into which the
//! thread's next sample point falls. So the hot path finds that block without a check of its own.
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use alloc_replay::{Counts, Event, NOBODY, ScopeId, TRACKER};
use alloc_timeline::Category;

use super::counters::{Counters, DEVIATION_LIMIT};
use super::lane::Lane;
use super::own_word;
use super::publish;
use super::scope_stack::{Entered, ScopeStack};
use super::stopwatch::Stopwatch;
use crate::settings::{exact, sampling};
use crate::sys;
use crate::tag::word::WORD_LIMIT;
#[cfg(feature = "stacks")]
use {super::thread_number::ThreadNumber, crate::sampler::Sampler, crate::sys::OwnStack};

/// The most bytes by which the published live bytes can be wrong because of what one thread has not published.
pub const SLACK: i64 = DEVIATION_LIMIT + WORD_LIMIT;

/// One thread's part of the ledger. Only that thread and its signal handlers write to it, and the pool while no thread
/// has it.
#[repr(C, align(64))]
pub struct Slot {
    /// The part that the hot path uses; closed while the thread works as the tracker.
    pub lane: Lane,
    /// The scope whose frees the lane counts.
    pub(super) freed: AtomicU16,
    /// How many times counts have begun or ended to move from the lane to the counters; odd while they move.
    pub(super) moving: AtomicU32,
    pub(super) counters: Counters,
    pub(super) scopes: ScopeStack,
    /// Measures how long each scope is active, when a session asks for that.
    pub stopwatch: Stopwatch,
    /// Decides which of the thread's blocks are sampled.
    #[cfg(feature = "stacks")]
    pub sampler: Sampler,
    /// By which samples name the thread.
    #[cfg(feature = "stacks")]
    pub number: ThreadNumber,
    /// Which part of the thread's stack a sample can read.
    #[cfg(feature = "stacks")]
    pub own_stack: OwnStack,
    /// The number of the call of an outermost operator that runs on this thread; 0 when none runs.
    pub op_call: AtomicU64,
    /// The announced category of the next block that takes the cold path, as its number + 1; 0 when none is announced.
    announced: AtomicU32,
    /// How many blocks of the program's this thread, and those that had the slot before it, have resized.
    resized: AtomicU64,
    /// An address on the thread's stack, by which a survey recognises the stack among the mappings.
    pub stack_address: AtomicUsize,
    /// The thread as the thread library knows it, which keeps an address here.
    pub thread_handle: AtomicUsize,
    /// The kernel's number of the thread.
    pub thread_id: AtomicU32,
    /// 1 while a thread has the slot, else 0.
    pub taken: AtomicU32,
    /// The slot's number in the pool; the sampler's random numbers depend on it.
    pub index: AtomicU32,
    /// In the pool's list of free slots: the next one's index + 1, 0 at the end.
    pub next_free: AtomicU32,
}

impl Slot {
    /// Makes a slot for a thread that starts in `scope`, out of zeroed or formerly used memory.
    pub fn prepare(&self, scope: ScopeId) {
        self.lane.close();
        self.lane.close_all_frees();
        self.lane.leave_cache();
        self.lane.take_allocated();
        self.lane.take_freed();
        self.freed.store(NOBODY, Ordering::Relaxed);
        self.moving.store(0, Ordering::Relaxed);
        self.op_call.store(0, Ordering::Relaxed);
        self.announced.store(0, Ordering::Relaxed);
        self.scopes.clear();
        self.stopwatch.prepare(scope);
        self.counters.prepare();
        #[cfg(feature = "stacks")]
        self.number.reset();
        self.select(scope);
    }

    /// The active scope.
    #[inline(always)]
    pub fn scope(&self) -> ScopeId {
        self.counters.active_scope()
    }

    /// Makes `scope` the active one.
    pub fn select(&self, scope: ScopeId) {
        let former = self.scope();
        // While the lane is closed, a signal handler's allocations go to the counters.
        self.lane.close();
        self.empty_allocated();
        self.counters.activate(scope);
        if scope == TRACKER {
            // A full word is published, which a thread must not do as the tracker.
            return self.lane.close_tiny_frees();
        }
        let freed = self.freed.load(Ordering::Relaxed);
        self.lane.open(self.scope(), freed);
        // A thread that leaves the tracker's scope may still have the right to read the ring: it must not write there.
        if former == TRACKER { self.lane.open_frees(freed) } else { self.publish_if_due() }
    }

    /// Enters `scope`. `None` when scopes are nested too deep already.
    pub fn enter(&self, scope: ScopeId) -> Option<Entered> {
        let entered = self.scopes.push(self.scope())?;
        self.select(scope);
        self.stopwatch.enter(scope);
        Some(entered)
    }

    /// Leaves a scope, see [`ScopeStack::pop`]. Returns whether it was still entered.
    pub fn leave(&self, entered: Entered) -> bool {
        self.scopes.pop(entered, |outer| {
            self.select(outer);
            self.stopwatch.lap(outer);
        })
    }

    /// Adds to the counters of `scope`.
    #[inline]
    pub fn add(&self, scope: ScopeId, counts: &Counts) {
        self.counters.add(scope, counts);
        self.publish_if_due();
    }

    /// Counts that a block of `owner`'s was resized; the tracker's own are not counted.
    pub fn count_resize(&self, owner: ScopeId) {
        own_word::add(&self.resized, u64::from(owner != TRACKER));
    }

    /// How many blocks of the program's were resized.
    pub fn resized(&self) -> u64 {
        self.resized.load(Ordering::Relaxed)
    }

    /// Announces the category of the next block that takes the cold path, or takes the announcement back.
    pub fn announce(&self, category: Option<Category>) {
        let number = category.map_or(0, |category| category as u32 + 1);
        self.announced.store(number, Ordering::Relaxed);
    }

    /// Takes the announced category, which is then announced no more.
    pub fn take_announced(&self) -> Option<Category> {
        let number = self.announced.swap(0, Ordering::Relaxed);
        Category::ALL.get((number as usize).checked_sub(1)?).copied()
    }

    /// Moves what the lane has counted to the counters.
    pub fn empty_lane(&self) {
        self.empty_allocated();
        self.empty_freed();
        self.publish_if_due();
    }

    /// Makes the lane count the frees of blocks that `scope` owns, from now on.
    pub fn gather_frees_of(&self, scope: ScopeId) {
        self.lane.close_all_frees();
        self.empty_freed();
        self.freed.store(scope, Ordering::Relaxed);
        self.lane.open_frees(scope);
        self.publish_if_due();
    }

    #[inline(always)]
    fn empty_allocated(&self) {
        // Most scopes are left as soon as they are entered.
        if self.lane.has_allocated() {
            if sampling::is_rare() {
                self.charge();
            } else {
                self.move_counts(|| self.counters.add_to_active(&self.lane.take_allocated()));
            }
        }
    }

    /// Empties the word of allocations, and charges it anew while a session records.
    #[cold]
    pub fn charge(&self) {
        #[cfg(feature = "stacks")]
        self.count_down(0, || ());
    }

    /// Whether a sample point falls into `more` bytes that this thread has allocated, or into those that the lane has counted last:
    /// the next point is then another one.
    #[cfg(feature = "stacks")]
    #[cold]
    pub fn is_sample_due(&self, more: u64) -> bool {
        self.count_down(more, || self.sampler.take_due())
            .unwrap_or_else(|| more > 0 && crate::sampler::is_due_alone(more))
    }

    /// Counts `more` bytes that this thread has allocated down to the next sample point, if that is so far away that the word of
    /// allocations is full before it: the word is not charged then, and need not be. `false`, and nothing is counted, where it is closer.
    #[cfg(feature = "stacks")]
    #[inline]
    pub fn counts_without_sample(&self, more: u64) -> bool {
        let count = || {
            let is_far = self.sampler.left() >= WORD_LIMIT as u64 + more;
            if is_far {
                self.sampler.count_down(more, self.index.load(Ordering::Relaxed));
            }
            is_far
        };
        self.sampler.exclusively(count) == Some(true)
    }

    /// Empties the word of allocations and, while a session records, counts its bytes and `more` down to the next sample point, runs
    /// `then`, and charges the word. `None` for a signal handler that has interrupted this, and while no session records.
    #[cfg(feature = "stacks")]
    fn count_down<T>(&self, more: u64, then: impl FnOnce() -> T) -> Option<T> {
        let empty = || {
            let held = self.lane.take_allocated();
            self.counters.add_to_active(&held);
            held.allocated
        };
        let counted = self.sampler.exclusively(|| {
            let mut result = None;
            self.move_counts(|| {
                let bytes = empty() + more;
                if publish::recording() {
                    self.sampler.count_down(bytes, self.index.load(Ordering::Relaxed));
                    result = Some(then());
                    self.charge_to(self.sampler.left());
                }
            });
            result
        });
        counted.unwrap_or_else(|| {
            self.move_counts(|| _ = empty());
            None
        })
    }

    /// Charges the empty word so that it is full with the block that reaches `left` more bytes, or with the next one at all.
    #[cfg(feature = "stacks")]
    fn charge_to(&self, left: u64) {
        let room = left.max(1);
        if sampling::is_rare() && room < WORD_LIMIT as u64 {
            self.lane.charge((WORD_LIMIT as u64 - room) as u16);
        }
    }

    #[inline(always)]
    fn empty_freed(&self) {
        if self.lane.has_freed() {
            let scope = self.freed.load(Ordering::Relaxed);
            // This comes first, because it may publish another scope's counters, which must not happen while counts
            // move.
            self.counters.make_room(scope);
            self.move_counts(|| self.counters.add(scope, &self.lane.take_freed()));
        }
    }

    /// Moves counts from the lane to the counters, between two steps of `moving`, by which readers in other threads
    /// notice.
    #[inline(always)]
    fn move_counts(&self, move_them: impl FnOnce()) {
        let step = || {
            let next = self.moving.load(Ordering::Relaxed).wrapping_add(1);
            self.moving.store(next, Ordering::Relaxed);
        };
        step();
        fence(Ordering::Release);
        move_them();
        fence(Ordering::Release);
        step();
    }

    /// A signal handler that interrupts the thread while it writes to the ring leaves the publication to the thread: its own
    /// would be dropped.
    fn publish_if_due(&self) {
        if self.counters.deviates() && !self.counters.ring.is_writing() {
            self.publish();
        }
    }

    /// Publishes everything that this thread has counted, unless the thread works as the tracker. As the tracker it may
    /// be reading the ring, to which it must then not write, or it may be writing the last table of a recording, which
    /// would miss what goes straight to the totals. Its next publication is soon enough. Only the owning thread may
    /// call this.
    #[cold]
    pub fn publish(&self) {
        if self.scope() != TRACKER {
            self.publish_at_end();
        }
    }

    /// [`Slot::publish`] in any case, for a thread that ends.
    pub fn publish_at_end(&self) {
        self.empty_allocated();
        self.empty_freed();
        self.counters.publish();
    }
}

/// Counts for `scope`. `slot` is the calling thread's, if it has one. Without a slot, and in exact mode, the counts are
/// published at once.
pub fn add(slot: Option<&Slot>, scope: ScopeId, counts: &Counts) {
    match slot {
        Some(slot) if !exact() => slot.add(scope, counts),
        slot => publish::batch(slot.map(|slot| &slot.counters.ring), scope, counts, sys::now_ns),
    }
}

/// Publishes an event, see [`publish::emit`]. `slot` is the calling thread's, if it has one.
#[must_use]
pub fn emit(slot: Option<&Slot>, event: &Event) -> bool {
    publish::emit(slot.map(|slot| &slot.counters.ring), event)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neither the tracker's scope nor that of nobody.
    const SCOPE: ScopeId = 7;

    /// A thread's counts are due, and it is just writing them to the ring. A signal handler that enters a scope then leaves
    /// the publication to the thread: its own would be dropped.
    #[test]
    fn a_handler_that_interrupts_a_publication_leaves_it_to_the_thread() {
        // SAFETY: a slot is made of atomics and pointers that may be null, for all of which zeroes are values, as the pool
        // has them.
        let slot = unsafe { Box::<Slot>::new_zeroed().assume_init() };
        slot.prepare(SCOPE);
        let counts = Counts { allocations: 1, allocated: 2 * DEVIATION_LIMIT as u64, ..Counts::default() };
        slot.counters.add(SCOPE, &counts);
        assert!(slot.counters.ring.enter(|| slot.select(SCOPE + 1)));
        assert!(slot.counters.deviates(), "the handler has published");
        slot.select(SCOPE);
        assert!(!slot.counters.deviates(), "the thread publishes when it can");
    }
}
