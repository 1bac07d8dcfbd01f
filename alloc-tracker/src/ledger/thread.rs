//! The calling thread and its slot.
//!
//! A thread starts without a slot, and so with a closed lane. It gets one when it allocates its first block or enters
//! its first scope. While the thread is getting its slot, and again from the moment at which it gives the slot back at
//! its end, it is *between slots*: what it allocates then is published at once.
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};

#[cfg(feature = "stacks")]
use alloc_replay::Event;
use alloc_replay::{NOBODY, RUNTIME, ScopeId, TRACKER};

use super::pool;
use super::slot::Slot;
#[cfg(feature = "stacks")]
use super::slot::emit;
use super::thread_lane::{close_lane, set_lane};
use super::thread_word::thread_word;
use super::totals;
use crate::backend::{self, Backend, backend};
use crate::settings::{Mode, mode, sampling};
use crate::sys::last_thread;
use crate::{scope, sys};

thread_word!(
    /// The thread's slot; null when it has none.
    own_slot: *const super::Slot, "alloc_tracker_slot", const 0, std::ptr::null()
);
thread_word!(
    /// 1 while the thread is between slots.
    between_slots: usize, "alloc_tracker_between_slots", const 0, 0
);
thread_word!(
    /// 1 while a thread without a slot works as the tracker.
    works_as_tracker: usize, "alloc_tracker_works_as_tracker", const 0, 0
);

/// The scope that a new thread starts in: before `main` that of the runtime, afterwards [`NOBODY`].
static DEFAULT_SCOPE: AtomicU16 = AtomicU16::new(RUNTIME);

/// Notes that `main` begins: from now on new threads start in no scope.
pub fn main_begins() {
    if DEFAULT_SCOPE.load(Ordering::Relaxed) == RUNTIME {
        DEFAULT_SCOPE.store(NOBODY, Ordering::Relaxed);
    }
}

/// The calling thread's slot, if it has one.
fn current() -> Option<&'static Slot> {
    // SAFETY: the pointer is null or to a slot, in a mapping that is never unmapped.
    unsafe { own_slot::get().as_ref() }
}

/// Moves what the calling thread's lane has counted to the thread's counters.
pub fn empty_lane() {
    if let Some(slot) = current() {
        slot.empty_lane();
    }
}

/// Publishes what the calling thread has counted, also while it works as the tracker: before it begins to record, it neither reads
/// the ring nor writes a table.
pub fn publish_own() {
    if let Some(slot) = current() {
        slot.publish_at_end();
    }
}

/// Makes the calling thread's lane count the frees of blocks that `scope` owns.
pub fn gather_frees_of(scope: ScopeId) {
    if let Some(slot) = current() {
        slot.gather_frees_of(scope);
    }
}

/// The calling thread's slot; a new thread gets one. `None` for a thread that is between slots, and when the tracker is
/// off.
pub fn acquire() -> Option<&'static Slot> {
    current().or_else(acquire_first)
}

fn acquire_first() -> Option<&'static Slot> {
    if between_slots::get() == 1 || mode() == Mode::Off {
        return None;
    }
    between_slots::set(1);
    let slot = pool::take()?;
    slot.prepare(nobody());
    slot.stack_address.store(ptr::from_ref(&slot).addr(), Ordering::Relaxed);
    #[cfg(feature = "stacks")]
    slot.own_stack.begin();
    // SAFETY: it takes nothing and cannot fail.
    slot.thread_handle.store(unsafe { libc::pthread_self() } as usize, Ordering::Relaxed);
    slot.thread_id.store(sys::thread_id(), Ordering::Relaxed);
    slot.taken.store(1, Ordering::Release);
    release_at_end(slot);
    own_slot::set(slot);
    if opens_lanes() {
        set_lane(&slot.lane);
        if sampling::is_rare() {
            slot.charge();
        }
    }
    between_slots::set(0);
    Some(slot)
}

/// To be called in a forked child, when no session records. Its only thread has another number of the kernel's than the one that
/// forked, and the scopes that the thread is in get numbers of the child's own: what is alive was allocated in the former.
pub fn forked() {
    if mode() == Mode::Off {
        return;
    }
    // What threads had not published that do not exist here is what was there before the child.
    let own = current().map_or(ptr::null(), ptr::from_ref);
    for slot in pool::live_slots().filter(|slot| !ptr::eq(*slot, own)) {
        for (scope, counts) in as_tracker(|| slot.unpublished()) {
            totals::of(scope).add(&counts);
        }
        pool::abandon(slot);
    }
    pool::count_anew();
    scope::forked();
    #[cfg(feature = "stacks")]
    {
        crate::sampler::forked();
        pool::all_slots().for_each(|slot| slot.sampler.forked());
    }
    DEFAULT_SCOPE.store(as_tracker(|| scope::own(NOBODY)), Ordering::Relaxed);
    if let Some(slot) = current() {
        slot.thread_id.store(sys::thread_id(), Ordering::Relaxed);
        let active = slot.scope();
        let own = as_tracker(|| {
            slot.scopes.renumber(scope::own);
            scope::own(active)
        });
        slot.select(own);
        slot.stopwatch.lap(own);
        // A session that starts now takes what is published for what was there. A signal handler that forks may have
        // interrupted a publication, and leaves it to the thread.
        if !slot.counters.ring.is_writing() {
            slot.publish();
        }
    }
}

/// Whether threads have lanes. In any other mode, over any other backend, and where blocks are often sampled, every block takes the cold
/// path.
pub fn opens_lanes() -> bool {
    mode() == Mode::On && backend() == Backend::Jemalloc && (!sampling::is_on() || sampling::is_rare())
}

/// The scope of threads that are in no scope of the program's; in a forked child it has a number of the child's own.
pub fn nobody() -> ScopeId {
    DEFAULT_SCOPE.load(Ordering::Relaxed)
}

/// The scope of the blocks that a thread between slots allocates.
pub fn scope_without_slot() -> ScopeId {
    if works_as_tracker::get() == 1 { TRACKER } else { nobody() }
}

/// Whether the calling thread runs as the tracker now ([`as_tracker`]).
pub fn is_tracker() -> bool {
    acquire().map_or_else(scope_without_slot, Slot::scope) == TRACKER
}

/// Runs `work` as the tracker: the tracker owns what it allocates. A thread must read the ring in this way, because
/// what the tracker allocates is never published to the ring.
pub fn as_tracker<T>(work: impl FnOnce() -> T) -> T {
    match acquire() {
        Some(slot) => {
            let _restore = RestoreScope { slot, scope: slot.scope() };
            slot.select(TRACKER);
            work()
        }
        None => as_tracker_without_slot(work),
    }
}

/// Runs all the work of a thread that belongs to the tracker.
pub fn as_tracker_thread(work: impl FnOnce()) {
    // What the thread allocates while it gets a slot is the tracker's memory as well.
    let _ = as_tracker_without_slot(|| {
        backend::begin_trackers_thread();
        acquire()
    });
    as_tracker(work);
}

fn as_tracker_without_slot<T>(work: impl FnOnce() -> T) -> T {
    let _restore = RestoreFlag(works_as_tracker::get());
    works_as_tracker::set(1);
    work()
}

/// Gives a slot its scope back, also when a panic unwinds.
struct RestoreScope {
    slot: &'static Slot,
    scope: ScopeId,
}

impl Drop for RestoreScope {
    fn drop(&mut self) {
        self.slot.select(self.scope);
    }
}

/// Gives `works_as_tracker` its value back, also when a panic unwinds.
struct RestoreFlag(usize);

impl Drop for RestoreFlag {
    fn drop(&mut self) {
        works_as_tracker::set(self.0);
    }
}

static EXIT_KEY: AtomicU32 = AtomicU32::new(u32::MAX);
static KEY_IS_BEING_MADE: AtomicBool = AtomicBool::new(false);

/// Has the thread library call [`release`] when the calling thread ends.
fn release_at_end(slot: &'static Slot) {
    if EXIT_KEY.load(Ordering::Acquire) == u32::MAX {
        if KEY_IS_BEING_MADE.swap(true, Ordering::AcqRel) {
            // Another thread is making the key at this moment. It is not waited for: this thread never gives its slot
            // back.
            return;
        }
        let mut key: libc::pthread_key_t = 0;
        // SAFETY: `key` is valid for writing, and `release` has the signature that the thread library calls.
        if unsafe { libc::pthread_key_create(&mut key, Some(release)) } == 0 {
            EXIT_KEY.store(key, Ordering::Release);
        }
    }
    let key = EXIT_KEY.load(Ordering::Acquire);
    if key != u32::MAX {
        // SAFETY: the key was made above and is never deleted; the value is only handed back to `release`. The call may
        // allocate: this thread is between slots, so that allocation is counted without a slot.
        unsafe { libc::pthread_setspecific(key, ptr::from_ref(slot).cast()) };
    }
}

/// Called at a thread's end: publishes and gives the slot back. What destructors that run later allocate and free is
/// counted without a slot.
extern "C" fn release(slot: *mut libc::c_void) {
    // SAFETY: the value is what `release_at_end` stored: a slot, valid for the rest of the process.
    let Some(slot) = (unsafe { slot.cast::<Slot>().as_ref() }) else { return };
    last_thread::thread_ends();
    close_lane();
    slot.stopwatch.lap(NOBODY);
    #[cfg(feature = "stacks")]
    tell_name(slot);
    slot.publish_at_end();
    slot.lane.leave_cache();
    own_slot::set(ptr::null());
    between_slots::set(1);
    pool::give_back(slot);
}

/// Tells what the calling thread is called, if samples name it: when it has ended, nobody can ask. One that ends while no
/// session records is told to nobody.
#[cfg(feature = "stacks")]
fn tell_name(slot: &Slot) {
    if let Some(thread) = slot.number.known() {
        let _ = emit(Some(slot), &Event::ThreadEnded { thread, name: sys::thread_name() });
    }
}
