//! Publication: a thread hands its counts and events over to all. While a session records, counts and events go to the
//! event ring; otherwise counts go straight to the totals, and events are dropped.
//!
//! The change between the two loses nothing and counts nothing twice: [`begin`] first directs new publications to the
//! ring, and then waits for those that are still on their way to the totals. [`end`] does the reverse.
//!
//! Each of the two must see who is on the way. How many are on the way to the totals is counted (`IN_FLIGHT`). Who is on the way to the
//! ring has claimed a place there and not written it yet; so a thread that has its place looks once more whether a session records, and
//! leaves the place empty where none does. While a session records, an event takes one locked instruction, that of its claim.
use std::sync::atomic::{AtomicPtr, compiler_fence};

use alloc_replay::{Counts, Event, ScopeId, TRACKER};

use super::totals;
use crate::event::{raw, ring};
use crate::sys;
use crate::sys::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence, statics, yield_now};

statics! {
    /// Where publications go: to the ring, or to the totals.
    static RECORDING: AtomicBool = AtomicBool::new(false);
    /// How many publications are on their way to the totals.
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
    fence(Ordering::SeqCst);
    while IN_FLIGHT.load(Ordering::SeqCst) != 0 {
        help();
    }
}

/// How long the end of a session waits for the next event that a thread has begun to write, in nanoseconds. A thread that a signal handler has
/// interrupted does not write it before the handler returns, and the handler may have called `exit`.
const PATIENCE_NS: u64 = 500_000_000;

/// Directs all further publications to the totals, and returns when none is on its way to the ring any more, and all that were have been
/// read, but for those that threads have begun and do not end.
pub fn end() {
    RECORDING.store(false, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    let claimed = ring::places_claimed();
    let (mut read, mut since_ns) = (ring::places_read(), sys::now_ns());
    while read < claimed {
        help();
        let (places, now_ns) = (ring::places_read(), sys::now_ns());
        if places > read {
            (read, since_ns) = (places, now_ns);
        } else if now_ns.saturating_sub(since_ns) > PATIENCE_NS
            && ring::reader().is_some_and(|mut reader| reader.pass_unwritten())
        {
            totals::DROPPED_EVENTS.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// To be called in a forked child. No session records there, and publications that other threads of the parent had
/// begun will never end.
pub fn reset() {
    RECORDING.store(false, Ordering::SeqCst);
    IN_FLIGHT.store(0, Ordering::SeqCst);
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

/// Publishes counts of one scope. `access` is the calling thread's, if it has a slot; `now_ns` says what time it is, and is asked while a
/// session records.
pub fn batch(access: Option<&RingAccess>, scope: ScopeId, counts: &Counts, now_ns: impl Fn() -> u64) {
    if scope == TRACKER {
        return totals::of(scope).add(counts);
    }
    let mut left = *counts;
    while let Some((first, rest)) = raw::split(&left) {
        part(access, scope, &first, &now_ns);
        left = rest;
    }
    part(access, scope, &left, now_ns);
}

/// Publishes counts that fit into one event; others go to the totals alone.
fn part(access: Option<&RingAccess>, scope: ScopeId, counts: &Counts, now_ns: impl Fn() -> u64) {
    let add = || totals::of(scope).add(counts);
    let event = raw::fits(counts).then_some(Event::Batch { scope, counts: *counts });
    // A session may begin, or end, at any moment.
    loop {
        if let Some(event) = &event
            && recording()
            && to_ring(access, now_ns(), event)
        {
            return;
        }
        let may_be_direct = || event.is_none() || is_writing(access) || !RECORDING.load(Ordering::SeqCst);
        if in_flight(|| may_be_direct().then(add)).is_some() {
            return;
        }
    }
}

/// Publishes one event. `false` when no session records, or when a signal handler has interrupted this thread's own
/// write (see [`RingAccess`]): the caller must then count the block by scope.
#[must_use]
pub fn emit(access: Option<&RingAccess>, event: &Event) -> bool {
    recording() && to_ring(access, sys::now_ns(), event)
}

/// Writes an event into the ring. `false` as for [`emit`].
fn to_ring(access: Option<&RingAccess>, time_ns: u64, event: &Event) -> bool {
    let mut written = false;
    let mut write = || written = ring::write(time_ns, event, || RECORDING.load(Ordering::SeqCst), help);
    match access {
        None => write(),
        Some(access) if access.enter(&mut write) => {}
        Some(_) => {
            totals::DROPPED_EVENTS.fetch_add(1, Ordering::Relaxed);
        }
    }
    written
}

/// Whether a signal handler asks that has interrupted this thread's own write.
fn is_writing(access: Option<&RingAccess>) -> bool {
    access.is_some_and(RingAccess::is_writing)
}

/// Runs what may add to the totals, such that [`begin`] waits for its end.
fn in_flight<T>(add: impl FnOnce() -> T) -> T {
    IN_FLIGHT.fetch_add(1, Ordering::SeqCst);
    let added = add();
    // In a child, if a signal handler forked meanwhile, none is in flight already (`reset`).
    let mut left = IN_FLIGHT.load(Ordering::Relaxed);
    while left > 0
        && let Err(others) = IN_FLIGHT.compare_exchange(left, left - 1, Ordering::SeqCst, Ordering::Relaxed)
    {
        left = others;
    }
    added
}

/// A new token, for the two events of one resize.
pub fn token() -> u64 {
    NEXT_TOKEN.fetch_add(1, Ordering::Relaxed)
}
