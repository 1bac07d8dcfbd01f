//! A thread's own part of the ledger: counters by scope, the scope stack, and how far the balance has drifted.
//!
//! Only the owning thread writes a slot. The recorder reads counters of running threads, so they are relaxed atomics,
//! written as load + store (which compiles to a plain add in memory, without a bus lock).
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};

use super::publish;
use super::totals::Counts;
use crate::tag::scope::{MAX_SCOPES, NOBODY, ScopeId, TRACKER};

/// Counters by scope in one slot; a power of two.
pub const ENTRIES: usize = 128;
/// How deep scopes may nest before further ones are counted but not entered.
pub const STACK: usize = 256;
/// The most by which one thread's unpublished balance may stray from zero, in bytes.
pub const BALANCE_LIMIT: i64 = 64 * 1024;
/// The scope number of an unused entry.
const UNUSED: u16 = MAX_SCOPES as u16;

/// Counts of one scope that are not published yet.
#[repr(C)]
pub struct Entry {
    /// The scope; `UNUSED` when the entry holds nothing.
    pub scope: AtomicU16,
    pub allocated: AtomicU64,
    pub freed: AtomicU64,
    pub requested: AtomicU64,
    pub requested_freed: AtomicU64,
    pub allocations: AtomicU64,
    pub frees: AtomicU64,
    pub moved_in: AtomicU64,
}

/// `cell += amount` for a cell that only this thread writes.
#[inline(always)]
pub fn bump(cell: &AtomicU64, amount: u64) {
    cell.store(cell.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
}

impl Entry {
    fn read(&self) -> Counts {
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        Counts {
            allocated: load(&self.allocated),
            freed: load(&self.freed),
            requested: load(&self.requested),
            requested_freed: load(&self.requested_freed),
            allocations: load(&self.allocations),
            frees: load(&self.frees),
            moved_in: load(&self.moved_in),
        }
    }

    fn clear(&self) {
        let cells = [
            &self.allocated,
            &self.freed,
            &self.requested,
            &self.requested_freed,
            &self.allocations,
            &self.frees,
            &self.moved_in,
        ];
        cells.into_iter().for_each(|cell| cell.store(0, Ordering::Relaxed));
    }
}

/// One thread's part of the ledger.
#[repr(C, align(64))]
pub struct Slot {
    /// [`BALANCE_LIMIT`] less the bytes allocated, plus the bytes freed since the last publication: how much may still be
    /// allocated before the next.
    headroom: AtomicI64,
    /// The entry of the active scope.
    current: AtomicPtr<Entry>,
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
        self.headroom.store(BALANCE_LIMIT, Ordering::Relaxed);
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
        // The old scope's entry must not hold back the new one's place: nothing is current for a moment, which only
        // this thread could notice.
        let Some(entry) = self.place_of(scope, std::ptr::null()) else { return };
        self.current.store(std::ptr::from_ref(entry).cast_mut(), Ordering::Relaxed);
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
        let counts = self.take(entry);
        let former = entry.scope.load(Ordering::Relaxed);
        entry.scope.store(scope, Ordering::Relaxed);
        let index = if std::ptr::eq(*entry, places[0]) { first } else { first ^ 1 };
        let used = &self.used[index / 64];
        used.store(used.load(Ordering::Relaxed) | 1 << (index % 64), Ordering::Relaxed);
        if let Some(counts) = counts {
            publish::delta(Some(self), former, &counts);
        }
        Some(entry)
    }

    /// Empties `entry` and gives what it held, if it held anything.
    fn take(&self, entry: &Entry) -> Option<Counts> {
        let counts = entry.read();
        if entry.scope.load(Ordering::Relaxed) == UNUSED || counts == Counts::default() {
            return None;
        }
        entry.clear();
        let headroom = self.headroom.load(Ordering::Relaxed);
        self.headroom.store(headroom.wrapping_add(counts.live()), Ordering::Relaxed);
        Some(counts)
    }

    /// Notes that `bytes` were allocated; true when the balance has strayed too far.
    #[inline(always)]
    pub fn strays_up(&self, bytes: i64) -> bool {
        let headroom = self.headroom.load(Ordering::Relaxed).wrapping_sub(bytes);
        self.headroom.store(headroom, Ordering::Relaxed);
        headroom < 0
    }

    /// Notes that `bytes` were freed; true when the balance has strayed too far.
    #[inline(always)]
    pub fn strays_down(&self, bytes: i64) -> bool {
        let headroom = self.headroom.load(Ordering::Relaxed).wrapping_add(bytes);
        self.headroom.store(headroom, Ordering::Relaxed);
        headroom > 2 * BALANCE_LIMIT
    }

    /// Publishes all counters of this thread, unless it works as the tracker. That may be reading the ring, which then
    /// cannot be written to, or making the last table of a recording, which then misses what is published past it: the
    /// thread's own next batch is soon enough. Only the owner may call it.
    #[cold]
    pub fn publish(&self) {
        if self.scope() != TRACKER {
            self.publish_now();
        }
    }

    /// The same for a thread that ends.
    pub fn publish_now(&self) {
        if let Some(counts) = self.take(&self.tracker) {
            publish::delta(Some(self), TRACKER, &counts);
        }
        for (word, used) in self.used.iter().enumerate() {
            let mut left = used.load(Ordering::Relaxed);
            while left != 0 {
                let entry = &self.entries[word * 64 + left.trailing_zeros() as usize];
                left &= left - 1;
                if let Some(counts) = self.take(entry) {
                    publish::delta(Some(self), entry.scope.load(Ordering::Relaxed), &counts);
                }
            }
        }
    }

    /// What stands in the counters now; for the recorder, at the end of a session.
    pub fn unpublished(&self) -> impl Iterator<Item = (ScopeId, Counts)> {
        self.entries
            .iter()
            .chain([&self.tracker])
            .map(|entry| (entry.scope.load(Ordering::Relaxed), entry.read()))
            .filter(|&(scope, counts)| scope != UNUSED && counts != Counts::default())
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
