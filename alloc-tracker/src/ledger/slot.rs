//! A thread's own part of the ledger: counters by scope, the scope stack, and how far the counters have strayed.
//!
//! ```text
//! lane (two words) --32 KiB--> entries, by scope --32 KiB astray--> published
//! ```
//!
//! An entry is astray by what its scope holds more, or less, than was last published, in usable or in requested bytes,
//! whichever is more; all entries together by at most 32 KiB. So no sum of scopes is wrong by more than that and a word.
//! (That the thread's balance were small would not do: one that frees in one scope what it allocates in another keeps
//! that balance, and both scopes are wrong.)
//!
//! Only the owning thread writes a slot, and its signal handlers do. The recorder reads counters of running threads.
mod gather;

use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};

use super::entry::{Entry, UNUSED, bump};
use super::lane::{Lane, WORD_LIMIT};
use super::publish;
use super::totals::Counts;
use crate::stacks::Sampler;
use crate::tag::scope::{NOBODY, ScopeId, TRACKER};

/// Counters by scope in one slot; a power of two.
pub const ENTRIES: usize = 128;
/// How deep scopes may nest before further ones are counted but not entered.
pub const STACK: usize = 256;
/// The most by which one thread's entries may be astray together, in bytes.
const ENTRIES_LIMIT: i64 = 32 * 1024;
/// The most by which everything that one thread has not published may be astray, in bytes.
pub const SLACK: i64 = ENTRIES_LIMIT + WORD_LIMIT;

fn bump_u32(cell: &AtomicU32) {
    cell.store(cell.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// One thread's part of the ledger.
#[repr(C, align(64))]
pub struct Slot {
    /// What the hot path touches. Open unless the thread works as the tracker.
    pub lane: Lane,
    /// The sum of how far each entry is astray.
    astray: AtomicU64,
    /// The entry of the active scope, whose allocations the lane gathers.
    current: AtomicPtr<Entry>,
    /// The scope whose frees the lane gathers.
    freed: AtomicU16,
    /// Odd while counts are on their way from the lane to an entry.
    moving: AtomicU32,
    /// Blocks that this thread, and those that had the slot before, have resized.
    pub resized: AtomicU64,
    /// Which call of an outermost operator is running on this thread; 0 when none is.
    pub op_call: AtomicU64,
    /// Set when the next aligned block is a tensor's storage.
    pub storage: AtomicU32,
    /// Set while this thread writes into the event ring: a signal handler's allocations must not wait for it.
    pub in_ring: AtomicU32,
    /// Number of entered scopes.
    pub depth: AtomicUsize,
    /// Distinguishes guards of the same depth.
    pub serial: AtomicU32,
    /// Kernel thread id of the owner.
    pub thread: AtomicU32,
    /// Which of its blocks are sampled.
    pub sampler: Sampler,
    /// An address on the owner's stack, by which the book finds the stack among the mappings.
    pub stack_address: AtomicUsize,
    /// 0 when the slot is free.
    pub taken: AtomicU32,
    /// Its place in the pool.
    pub index: AtomicU32,
    /// Next free slot in the pool: index + 1.
    pub next_free: AtomicU32,
    /// Scope and serial of each entered scope.
    pub stack: [(AtomicU16, AtomicU32); STACK],
    /// Which entries are not `UNUSED`, a bit each.
    used: [AtomicU64; ENTRIES / 64],
    entries: [Entry; ENTRIES],
    /// The tracker's own, which never goes to the ring. It pushes nobody aside and is pushed aside by nobody: whoever
    /// reads the ring works as the tracker, and must not have to write to it.
    tracker: Entry,
}

impl Slot {
    /// Makes a slot out of zeroed or formerly used memory.
    pub fn prepare(&self, scope: ScopeId) {
        self.lane.close();
        self.lane.take_allocated();
        self.lane.take_freed();
        self.astray.store(0, Ordering::Relaxed);
        self.freed.store(NOBODY, Ordering::Relaxed);
        self.moving.store(0, Ordering::Relaxed);
        self.op_call.store(0, Ordering::Relaxed);
        self.in_ring.store(0, Ordering::Relaxed);
        self.storage.store(0, Ordering::Relaxed);
        self.depth.store(0, Ordering::Relaxed);
        for entry in &self.entries {
            entry.scope.store(UNUSED, Ordering::Relaxed);
            entry.clear();
        }
        self.tracker.scope.store(TRACKER, Ordering::Relaxed);
        self.tracker.clear();
        self.used.iter().for_each(|used| used.store(0, Ordering::Relaxed));
        self.current.store(std::ptr::from_ref(&self.tracker).cast_mut(), Ordering::Relaxed);
        self.select(scope);
    }

    /// The active scope.
    #[inline(always)]
    pub fn scope(&self) -> ScopeId {
        self.current().scope.load(Ordering::Relaxed)
    }

    /// The active scope's counters.
    #[inline(always)]
    pub fn current(&self) -> &Entry {
        // SAFETY: `select` points `current` at an entry of this very slot before the slot is used (`prepare`), and
        // slots live in memory that is never unmapped.
        unsafe { &*self.current.load(Ordering::Relaxed) }
    }

    /// Makes `scope` the active one.
    pub fn select(&self, scope: ScopeId) {
        let former = self.scope();
        // While the lane is closed a signal handler's allocations find their own way to their scope's entry.
        self.lane.close();
        self.gather_allocated();
        // The old scope's entry must not hold back the new one's place: nothing is current for a moment, which only
        // this thread could notice.
        if let Some(entry) = self.place_of(scope, std::ptr::null()) {
            self.current.store(std::ptr::from_ref(entry).cast_mut(), Ordering::Relaxed);
        }
        if scope != TRACKER {
            self.lane.open(self.scope(), self.freed.load(Ordering::Relaxed));
            // Whoever leaves the tracker's scope may still have the right to read the ring, and must not write to it.
            if former != TRACKER && self.is_astray() {
                self.publish();
            }
        }
    }

    /// The entry in which `scope` is found if it was not pushed aside.
    #[inline(always)]
    pub fn likely_entry(&self, scope: ScopeId) -> &Entry {
        &self.entries[usize::from(scope) % ENTRIES]
    }

    /// The counters of `scope` for a free; publishes another scope's to make room where necessary.
    #[inline(always)]
    pub fn entry(&self, scope: ScopeId) -> &Entry {
        let entry = self.likely_entry(scope);
        if entry.scope.load(Ordering::Relaxed) == scope { entry } else { self.entry_cold(scope) }
    }

    #[cold]
    fn entry_cold(&self, scope: ScopeId) -> &Entry {
        // Of the two places one is not the active scope's, so there always is one.
        self.place_of(scope, self.current.load(Ordering::Relaxed)).unwrap_or(self.current())
    }

    /// Finds or makes room for `scope` in one of its two places, never in `kept`.
    fn place_of(&self, scope: ScopeId, kept: *const Entry) -> Option<&Entry> {
        if scope == TRACKER {
            return Some(&self.tracker);
        }
        let first = usize::from(scope) % ENTRIES;
        let places = [&self.entries[first], &self.entries[first ^ 1]];
        if let Some(held) = places.iter().find(|entry| entry.scope.load(Ordering::Relaxed) == scope) {
            return Some(held);
        }
        let free = places.iter().find(|entry| entry.scope.load(Ordering::Relaxed) == UNUSED);
        let entry = match free {
            Some(entry) => entry,
            None => places.iter().find(|entry| !std::ptr::eq(**entry, kept))?,
        };
        let mut counts = self.take(entry);
        let former = entry.scope.swap(UNUSED, Ordering::Relaxed);
        // A signal handler may have counted here until the place was given up, and may have taken it since.
        counts.add(&self.take(entry));
        let taken = entry.scope.compare_exchange(UNUSED, scope, Ordering::Relaxed, Ordering::Relaxed);
        let index = if std::ptr::eq(*entry, places[0]) { first } else { first ^ 1 };
        self.used[index / 64].fetch_or(1 << (index % 64), Ordering::Relaxed);
        if former != UNUSED && counts != Counts::default() {
            publish::delta(Some(self), former, &counts);
        }
        if taken.is_ok() { Some(entry) } else { self.place_of(scope, kept) }
    }

    /// Empties `entry` and gives what it held.
    fn take(&self, entry: &Entry) -> Counts {
        let counts = entry.read();
        if counts != Counts::default() {
            self.change(entry, |entry| entry.subtract(&counts));
        }
        counts
    }

    /// Changes `entry`, and notes how far astray it is now. What a signal handler counts in between may be noted twice or
    /// not at all; the next publication puts that right.
    #[inline]
    fn change(&self, entry: &Entry, change: impl FnOnce(&Entry)) {
        let before = entry.astray();
        change(entry);
        bump(&self.astray, entry.astray().wrapping_sub(before));
    }

    fn is_astray(&self) -> bool {
        self.astray.load(Ordering::Relaxed) as i64 > ENTRIES_LIMIT
    }

    /// Adds to the counters of `scope`, and publishes when they have strayed too far.
    pub fn add(&self, scope: ScopeId, counts: &Counts) {
        self.change(self.entry(scope), |entry| entry.add(counts));
        if self.is_astray() {
            self.publish();
        }
    }

    /// Counts that a block of `scope` was resized, from and to usable and requested bytes: what it grew was allocated, what
    /// it shrank was freed, and its owner stays.
    pub fn add_resized(&self, scope: ScopeId, [before, after]: [u64; 2], [old, new]: [u64; 2]) {
        self.change(self.entry(scope), |entry| {
            let (requested, by) =
                if new >= old { (&entry.requested, new - old) } else { (&entry.requested_freed, old - new) };
            bump(requested, by);
            if before != after {
                let (usable, by) =
                    if after >= before { (&entry.allocated, after - before) } else { (&entry.freed, before - after) };
                bump(usable, by);
            }
        });
        if self.is_astray() {
            self.publish();
        }
    }

    /// Enters `scope`. The depth and serial name it for [`Slot::leave`]; `None` when the stack is full.
    pub fn enter(&self, scope: ScopeId) -> Option<(usize, u32)> {
        let depth = self.depth.load(Ordering::Relaxed);
        let (place, serial) = self.stack.get(depth)?;
        // The place is taken before it is written, so that a signal handler that enters a scope here takes the next.
        self.depth.store(depth + 1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let number = self.serial.load(Ordering::Relaxed).wrapping_add(1);
        self.serial.store(number, Ordering::Relaxed);
        place.store(self.scope(), Ordering::Relaxed);
        serial.store(number, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.select(scope);
        Some((depth, number))
    }

    /// Leaves the scope that `enter` named, and every scope entered since and never left (a leaked guard, a longjmp).
    /// One that is no longer entered, because an outer one was left first, is left already.
    pub fn leave(&self, (depth, serial): (usize, u32)) {
        let Some((outer, entered)) = self.stack.get(depth) else { return };
        if depth < self.depth.load(Ordering::Relaxed) && entered.load(Ordering::Relaxed) == serial {
            // The place is given up after it was read, for the same reason as in `enter`.
            self.select(outer.load(Ordering::Relaxed));
            compiler_fence(Ordering::SeqCst);
            self.depth.store(depth, Ordering::Relaxed);
        }
    }
}

/// The scope that a fresh thread starts in; before `main` that is the runtime's.
pub static DEFAULT_SCOPE: AtomicU16 = AtomicU16::new(crate::tag::scope::RUNTIME);

/// Ends the time before `main`.
pub fn main_begins() {
    DEFAULT_SCOPE.store(NOBODY, Ordering::Relaxed);
}
