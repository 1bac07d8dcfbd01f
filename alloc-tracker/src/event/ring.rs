//! The event ring: any number of writers, one reader at a time, one order for all.
//!
//! ```text
//!        TAIL (next to read)                 HEAD (next to claim)
//!          v                                   v
//!  ... |read| 17 | 18 | 19: claimed, not yet written | 20 | free ...
//! ```
//!
//! A writer claims number n with one fetch_add; n is the event's place in the order of everything. It waits until place
//! n mod CAPACITY has been read, writes, and sets the place's stamp to n + 1. The reader goes from number to number and
//! stops at the first whose stamp is not there yet.
//!
//! A full ring makes writers wait, and a waiting writer reads itself if nobody else is reading: there is no thread
//! whose absence could stop the program. Two cases do not wait but give the event up (the caller then counts it as
//! dropped): a signal handler that interrupted a claim of its own thread, and a reader that waits for such a handler.
use super::{Event, Kind};
pub use crate::sys::sync::RING_PLACES as CAPACITY;
use crate::sys::sync::{AtomicBool, AtomicU64, Guarded, Ordering, filled, statics};
use crate::tag::scope::ScopeId;

/// `event` is written only by the thread that claimed the place's number, before it sets the stamp, and read only by the
/// reader after it saw the stamp and before it lets TAIL pass the number, which is what the next claimant waits for.
#[repr(C, align(64))]
struct Place {
    stamp: AtomicU64,
    event: Guarded<[u64; 7]>,
}

statics! {
    static PLACES: [Place; CAPACITY as usize] =
        filled![Place { stamp: AtomicU64::new(0), event: Guarded::new([0; 7]) }; CAPACITY as usize];
    static HEAD: AtomicU64 = AtomicU64::new(0);
    static TAIL: AtomicU64 = AtomicU64::new(0);
    static READING: AtomicBool = AtomicBool::new(false);
}

/// Puts `event` in order. While the ring is full, `help` is called again and again; it should read (see [`reader`]).
pub fn write(event: &Event, help: impl Fn()) {
    let number = HEAD.fetch_add(1, Ordering::AcqRel);
    while number.wrapping_sub(TAIL.load(Ordering::Acquire)) >= CAPACITY {
        help();
    }
    let place = &PLACES[(number % CAPACITY) as usize];
    let head = u64::from(event.kind as u8) | u64::from(event.scope) << 8;
    let words = [head, event.time_ns, event.a, event.b, event.c, event.d, event.e];
    // SAFETY: this thread claimed `number`, and the place's former number has been read (the loop above).
    place.event.with_mut(|event| unsafe { *event = words });
    place.stamp.store(number + 1, Ordering::Release);
}

/// The right to read, which one thread has at a time.
pub struct Reader(());

/// The right to read, unless somebody has it.
pub fn reader() -> Option<Reader> {
    let taken = READING.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
    // Not `then_some`: a Reader that is made in vain would give back another thread's right when dropped.
    taken.is_ok().then(|| Reader(()))
}

impl Drop for Reader {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the right back for a [`Reader`] that was forgotten.
pub fn give_back() {
    READING.store(false, Ordering::Release);
}

impl Reader {
    /// The next event in order and its number; `None` when there is none or it is not written yet.
    pub fn next(&mut self) -> Option<(u64, Event)> {
        let number = TAIL.load(Ordering::Relaxed);
        let place = &PLACES[(number % CAPACITY) as usize];
        if place.stamp.load(Ordering::Acquire) != number + 1 {
            return None;
        }
        // SAFETY: the stamp says that the event is written, and no writer touches it until TAIL passes it.
        let [head, time_ns, a, b, c, d, e] = place.event.with(|event| unsafe { *event });
        TAIL.store(number + 1, Ordering::Release);
        let (kind, scope) = (Kind::from_number(head as u8), (head >> 8) as ScopeId);
        Some((number, Event { kind, scope, time_ns, a, b, c, d, e }))
    }
}

/// How many events have been read so far.
pub fn passed() -> u64 {
    TAIL.load(Ordering::Relaxed)
}

/// The addresses that the ring occupies.
pub fn range() -> (usize, usize) {
    let places: &[Place] = &PLACES[..];
    (places.as_ptr().addr(), places.as_ptr().addr() + size_of_val(places))
}

/// Forgets everything: for a forked child, which has no other threads.
pub fn reset() {
    let head = HEAD.load(Ordering::Relaxed);
    TAIL.store(head, Ordering::Relaxed);
    READING.store(false, Ordering::Relaxed);
}
