//! From a thread to everybody: a batch of counts goes to the recorder's ring while one is recording, and to the totals
//! otherwise.
//!
//! The hand-over between the two is exact: [`begin`] first sends new publications to the ring and then waits for those
//! that were under way to the totals, so that nothing is counted in both or in neither.
use super::slot::Slot;
use super::totals::{self, Counts};
use crate::event::{Event, Kind, ring};
use crate::recorder;
use crate::sys;
use crate::sys::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence, statics, yield_now};
use crate::tag::scope::{ScopeId, TRACKER};

statics! {
    static RECORDING: AtomicBool = AtomicBool::new(false);
    static IN_FLIGHT: AtomicU32 = AtomicU32::new(0);
    /// Stamps resizes, so that the recorder finds the block between its two addresses.
    static NEXT_TOKEN: AtomicU64 = AtomicU64::new(1);
}

/// Whether a recorder takes events.
#[inline(always)]
pub fn recording() -> bool {
    RECORDING.load(Ordering::Relaxed)
}

/// Sends all further publications to the ring, and returns when none is on its way to the totals any more.
pub fn begin() {
    RECORDING.store(true, Ordering::SeqCst);
    settle();
}

/// Sends all further publications to the totals, and returns when none is on its way to the ring any more.
pub fn end() {
    RECORDING.store(false, Ordering::SeqCst);
    settle();
}

/// In a forked child: nobody records, and the publications of the parent's other threads never end.
pub fn reset() {
    RECORDING.store(false, Ordering::SeqCst);
    IN_FLIGHT.store(0, Ordering::SeqCst);
}

fn settle() {
    fence(Ordering::SeqCst);
    while IN_FLIGHT.load(Ordering::SeqCst) != 0 {
        recorder::drain();
        yield_now();
    }
}

/// Publishes counts of small blocks of one scope.
pub fn delta(slot: Option<&Slot>, scope: ScopeId, counts: &Counts) {
    let fits = counts.allocations < 1 << 24 && counts.frees < 1 << 24 && i16::try_from(counts.moved_in as i64).is_ok();
    let event = Event {
        kind: Kind::Delta,
        scope,
        time_ns: 0,
        a: counts.allocated,
        b: counts.freed,
        c: counts.requested,
        d: counts.requested_freed,
        e: counts.allocations | counts.frees << 24 | (counts.moved_in as u16 as u64) << 48,
    };
    let directly = || totals::of(scope).add(counts);
    if scope == TRACKER {
        directly();
    } else if fits {
        send(slot, event, directly);
    } else {
        IN_FLIGHT.fetch_add(1, Ordering::SeqCst);
        directly();
        IN_FLIGHT.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Publishes one block's event. `false` when nobody records, or when it would have to wait where it must not: the
/// caller then counts the block in the totals.
#[must_use]
pub fn emit(slot: Option<&Slot>, event: Event) -> bool {
    send(slot, event, || ())
}

/// The same; where it gives `false`, it runs `otherwise` first, for whose end [`begin`] waits as well.
fn send(slot: Option<&Slot>, mut event: Event, otherwise: impl FnOnce()) -> bool {
    IN_FLIGHT.fetch_add(1, Ordering::SeqCst);
    let emitted = RECORDING.load(Ordering::SeqCst) && {
        let entered = slot.is_none_or(|slot| slot.in_ring.swap(1, Ordering::Relaxed) == 0);
        if entered {
            event.time_ns = sys::now_ns();
            ring::write(&event, recorder::help);
            if let Some(slot) = slot {
                slot.in_ring.store(0, Ordering::Relaxed);
            }
        } else {
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

/// A token for a pair of `Taken` and `Put`.
pub fn token() -> u64 {
    NEXT_TOKEN.fetch_add(1, Ordering::Relaxed)
}

/// What an event of kind `Delta` says.
pub fn counts_of(event: &Event) -> Counts {
    Counts {
        allocated: event.a,
        freed: event.b,
        requested: event.c,
        requested_freed: event.d,
        allocations: event.e & 0xff_ffff,
        frees: event.e >> 24 & 0xff_ffff,
        moved_in: (event.e >> 48) as u16 as i16 as u64,
    }
}
