//! The event ring: any number of writers, one reader at a time, one order for all.
//!
//! ```text
//!        TAIL (next to read)                 HEAD (next to claim)
//!          v                                   v
//!  ... |read| 17 | 18 | 19: claimed, not yet written | 20 | free ...
//! ```
//!
//! A writer claims number n with one fetch_add; n is the event's place in the order of all events. The writer waits
//! until the former event at position n mod CAPACITY has been read, writes its own, and sets the position's stamp to n
//! + 1. The reader goes from number to number and stops at the first position that does not have its stamp yet.
//!
//! When the ring is full, writers wait. A waiting writer reads the ring itself if no other thread is reading, so that
//! the program never waits for a thread that does not run. A signal handler that interrupted its own thread between
//! claim and stamp must not wait, since the ring cannot be read past that claim: the handler's event is dropped and
//! counted instead (`ledger/publish.rs`).
use alloc_replay::Event;

use super::raw::{self, Words};
use crate::sys::prefetch_for_write;
pub use crate::sys::sync::RING_PLACES as CAPACITY;
use crate::sys::sync::{AtomicU64, Ordering, RawCell, filled, statics, thread_mark};

/// A place for one event. `words` is written only by the thread that claimed the number, before that thread sets the
/// stamp. It is read only by the reader, between seeing the stamp and moving TAIL past the number; the next writer that
/// claims this position waits for TAIL.
#[repr(C, align(64))]
struct Position {
    stamp: AtomicU64,
    words: RawCell<Words>,
}

statics! {
    static POSITIONS: [Position; CAPACITY as usize] =
        filled![Position { stamp: AtomicU64::new(0), words: RawCell::new([0; 7]) }; CAPACITY as usize];
    static HEAD: AtomicU64 = AtomicU64::new(0);
    static TAIL: AtomicU64 = AtomicU64::new(0);
    /// The mark of the thread that has the right to read; 0 while none has.
    static READING: AtomicU64 = AtomicU64::new(0);
}

/// Appends an event, unless `is_wanted` says no once a place is claimed: then the place stays empty. Returns whether the event will be read. While
/// the ring is full, `help` is called again and again; it should read the ring (see [`reader`]).
pub fn write(time_ns: u64, event: &Event, is_wanted: impl Fn() -> bool, help: impl Fn()) -> bool {
    let number = HEAD.fetch_add(1, Ordering::SeqCst);
    let mut tail = TAIL.load(Ordering::Acquire);
    while tail + CAPACITY <= number {
        help();
        tail = TAIL.load(Ordering::Acquire);
    }
    if tail > number {
        // A signal handler forked here, and this is the child: nobody reads that number any more (`reset`, `Reader::pass`).
        return false;
    }
    let position = &POSITIONS[(number % CAPACITY) as usize];
    let is_wanted = is_wanted();
    let encoded = if is_wanted { raw::encode(time_ns, event) } else { raw::NOTHING };
    // SAFETY: this thread claimed `number`, and the position's former number has been read (the loop above).
    position.words.with_mut(|words| unsafe { *words = encoded });
    position.stamp.store(number + 1, Ordering::Release);
    prefetch_for_write(&POSITIONS[((number + PREFETCHED) % CAPACITY) as usize]);
    is_wanted
}

/// How many places ahead of the one that it writes a writer asks for. A place is in the reader's cache, or in none, and a writer would wait for
/// it; events come so fast one after the other, where a thread publishes its counts, that the next place would be asked for too late.
const PREFETCHED: u64 = 4;

/// The right to read the ring, which one thread has at a time.
pub struct Reader(());

/// Takes the right to read; `None` when another thread, or this one, has it.
pub fn reader() -> Option<Reader> {
    let taken = READING.compare_exchange(0, thread_mark(), Ordering::Acquire, Ordering::Relaxed);
    // `then_some` would make a Reader even on failure, and the drop of that would give back another thread's right.
    taken.is_ok().then(|| Reader(()))
}

/// Whether this very thread has the right to read, so that a signal handler asks that has interrupted it. Nothing that waits for the right may be
/// done then.
pub fn is_reading_here() -> bool {
    READING.load(Ordering::Relaxed) == thread_mark()
}

impl Drop for Reader {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the right to read back, for a [`Reader`] that was forgotten (`mem::forget`).
pub fn give_back() {
    READING.store(0, Ordering::Release);
}

/// An event with its place in the order of all events.
#[derive(Clone, Copy, Debug)]
pub struct Numbered {
    /// Its number, larger than that of the event before.
    pub number: u64,
    /// When it was written, in nanoseconds of the monotonic clock.
    pub time_ns: u64,
    /// What happened.
    pub event: Event,
}

impl Reader {
    /// The next event in order; `None` when there is none or it is not written yet. Empty places are passed over.
    pub fn next(&mut self) -> Option<Numbered> {
        loop {
            let number = TAIL.load(Ordering::Relaxed);
            let position = &POSITIONS[(number % CAPACITY) as usize];
            if position.stamp.load(Ordering::Acquire) != number + 1 {
                return None;
            }
            // SAFETY: the stamp says that the event is written, and no writer touches the words until TAIL passes the
            // number, which only this reader moves.
            let words = position.words.with(|words| unsafe { *words });
            // In a child, if a signal handler forked here, TAIL is farther already (`reset`).
            TAIL.compare_exchange(number, number + 1, Ordering::Release, Ordering::Relaxed).ok()?;
            if let Some((time_ns, event)) = raw::decode(words) {
                return Some(Numbered { number, time_ns, event });
            }
        }
    }

    /// [`pass`](Reader::pass), unless the next number has been written.
    pub fn pass_unwritten(&mut self) -> bool {
        let number = TAIL.load(Ordering::Relaxed);
        POSITIONS[(number % CAPACITY) as usize].stamp.load(Ordering::Acquire) != number + 1 && self.pass()
    }

    /// Passes over the next number, if one is claimed. To be called when [`Reader::next`] gives none, in a forked child: a thread of the
    /// parent had claimed that number at the fork, and never writes it here.
    pub fn pass(&mut self) -> bool {
        let number = TAIL.load(Ordering::Relaxed);
        let claimed = number < HEAD.load(Ordering::Relaxed);
        if claimed {
            TAIL.store(number + 1, Ordering::Release);
        }
        claimed
    }
}

/// How many places have been claimed so far.
pub fn places_claimed() -> u64 {
    HEAD.load(Ordering::SeqCst)
}

/// How many places have been read so far, those that stayed empty among them.
pub fn places_read() -> u64 {
    TAIL.load(Ordering::Relaxed)
}

/// The addresses that the ring occupies.
pub fn range() -> (usize, usize) {
    let positions: &[Position] = &POSITIONS[..];
    (positions.as_ptr().addr(), positions.as_ptr().addr() + size_of_val(positions))
}

/// Drops all events. To be called in a forked child, which has no other threads.
pub fn reset() {
    let head = HEAD.load(Ordering::Relaxed);
    TAIL.store(head, Ordering::Relaxed);
    READING.store(0, Ordering::Relaxed);
}
