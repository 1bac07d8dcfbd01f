//! Publication: a thread hands its counts and events over to all. While a session records, counts and events go to the
//! event ring; otherwise counts go straight to the totals, and events are dropped.
//!
//! The change between the two loses nothing and counts nothing twice: [`begin`] first directs new publications to the
//! ring, and then waits for those that are still on their way to the totals. [`end`] does the reverse.
use std::sync::atomic::{AtomicPtr, compiler_fence};

use alloc_replay::{Counts, Event, ScopeId, TRACKER};

use super::totals;
use crate::event::{raw, ring};
use crate::sys;
use crate::sys::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence, statics, yield_now};

statics! {
    /// Where publications go: to the ring, or to the totals.
    static RECORDING: AtomicBool = AtomicBool::new(false);
    /// How many publications are under way.
    static IN_FLIGHT: AtomicU32 = AtomicU32::new(0);
    /// The next token: the number of a resize, by which the replay connects the two events of it.
    static NEXT_TOKEN: AtomicU64 = AtomicU64::new(1);
}

/// The function that reads the ring, a `fn()`; null before the first recording.
static READ_RING: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// A thread's access to the ring, taken while the thread writes. A signal handler that interrupts the thread at that
/// moment must not write: it might wait for a place that becomes free only after the interrupted thread has gone on.
pub struct RingAccess(AtomicU32);

impl RingAccess {
    /// Notes that no write is under way, for a slot that a new thread takes over.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether this thread is writing: then a signal handler asks, and may not write.
    pub fn is_writing(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Runs `write`, unless this thread is writing already. Returns whether it ran.
    pub(super) fn enter(&self, write: impl FnOnce()) -> bool {
        // A handler that interrupts this between the two has ended its own write before this goes on.
        let entered = self.0.load(Ordering::Relaxed) == 0;
        if entered {
            self.0.store(1, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            write();
            compiler_fence(Ordering::SeqCst);
            self.0.store(0, Ordering::Relaxed);
        }
        entered
    }
}

/// Whether a session records.
#[inline(always)]
pub fn recording() -> bool {
    RECORDING.load(Ordering::Relaxed)
}

/// Directs all further publications to the ring, and returns when none is on its way to the totals any more.
/// `read_ring` must read the events that are in the ring, unless another thread is reading; threads call it while the
/// ring is full.
pub fn begin(read_ring: fn()) {
    READ_RING.store(read_ring as *mut (), Ordering::Release);
    RECORDING.store(true, Ordering::SeqCst);
    settle();
}

/// Directs all further publications to the totals, and returns when none is on its way to the ring any more.
pub fn end() {
    RECORDING.store(false, Ordering::SeqCst);
    settle();
}

/// To be called in a forked child. No session records there, and publications that other threads of the parent had
/// begun will never end.
pub fn reset() {
    RECORDING.store(false, Ordering::SeqCst);
    IN_FLIGHT.store(0, Ordering::SeqCst);
}

/// Waits until no publication is under way.
fn settle() {
    fence(Ordering::SeqCst);
    while IN_FLIGHT.load(Ordering::SeqCst) != 0 {
        help();
    }
}

/// What a thread does while it waits for a free place in the ring, or for other publications to end: it reads the ring,
/// and lets other threads run. One of those may be reading, or may have claimed the next place and not written it yet.
fn help() {
    let read_ring = READ_RING.load(Ordering::Acquire);
    if !read_ring.is_null() {
        // SAFETY: READ_RING is null or a function of this very type (`begin`).
        let read_ring = unsafe { std::mem::transmute::<*mut (), fn()>(read_ring) };
        read_ring();
    }
    yield_now();
}

/// Publishes counts of one scope. `access` is the calling thread's, if it has a slot.
pub fn batch(access: Option<&RingAccess>, scope: ScopeId, counts: &Counts) {
    let directly = || totals::of(scope).add(counts);
    if scope == TRACKER {
        directly();
    } else if raw::fits(counts) {
        send(access, &Event::Batch { scope, counts: *counts }, directly);
    } else {
        IN_FLIGHT.fetch_add(1, Ordering::SeqCst);
        directly();
        IN_FLIGHT.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Publishes one event. `false` when no session records, or when a signal handler has interrupted this thread's own
/// write (see [`RingAccess`]): the caller must then count the block by scope.
#[must_use]
pub fn emit(access: Option<&RingAccess>, event: &Event) -> bool {
    send(access, event, || ())
}

/// As [`emit`], but runs `otherwise` before it returns `false`. [`begin`] waits for the end of that as well.
fn send(access: Option<&RingAccess>, event: &Event, otherwise: impl FnOnce()) -> bool {
    IN_FLIGHT.fetch_add(1, Ordering::SeqCst);
    let emitted = RECORDING.load(Ordering::SeqCst) && {
        let write = || ring::write(sys::now_ns(), event, help);
        let entered = match access {
            Some(access) => access.enter(write),
            None => {
                write();
                true
            }
        };
        if !entered {
            totals::DROPPED_EVENTS.fetch_add(1, Ordering::Relaxed);
        }
        entered
    };
    if !emitted {
        otherwise();
    }
    IN_FLIGHT.fetch_sub(1, Ordering::SeqCst);
    emitted
}

/// A new token, for the two events of one resize.
pub fn token() -> u64 {
    NEXT_TOKEN.fetch_add(1, Ordering::Relaxed)
}
