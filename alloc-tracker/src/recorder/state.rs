//! The replay of the current session. Only the thread that has the right to read the event ring may touch it.
use alloc_replay::Replay;

use crate::event::ring::{self, Numbered, Reader};
use crate::ledger::{self, totals};
use crate::sys::sync::{AtomicBool, Ordering, RawCell, rest, statics, yield_now};

statics! {
    /// Only `read_and` touches it, in the one thread that has the ring's `Reader`.
    static REPLAY: RawCell<Option<Replay>> = RawCell::new(None);
    /// Whether [`hold_reading`] has kept the right to read.
    static HELD: AtomicBool = AtomicBool::new(false);
}

/// Replays all events that are in the ring, then runs `work` on the replay. The tracker is the owner of all that is
/// allocated meanwhile.
fn read_and<T>(mut reader: Reader, work: impl FnOnce(&mut Option<Replay>) -> T) -> T {
    ledger::as_tracker(|| {
        REPLAY.with_mut(|replay| {
            // SAFETY: `ring::reader` gives out one Reader at a time, and `reader` lives longer than this reference.
            let replay = unsafe { &mut *replay };
            while let Some(Numbered { number, time_ns, event }) = reader.next() {
                if let Some(replay) = replay {
                    replay.apply(number, time_ns, &event, |scope, counts| totals::of(scope).add(&counts));
                }
            }
            work(replay)
        })
    })
}

/// Replays all events that are in the ring, then runs `work` on the replay, which is `None` when no session records.
/// Waits while another thread is reading.
pub fn with_state<T>(work: impl FnOnce(&mut Option<Replay>) -> T) -> T {
    loop {
        if let Some(reader) = ring::reader() {
            return read_and(reader, work);
        }
        yield_now();
    }
}

/// Like [`with_state`], but runs `work` only when a session records.
pub fn with_replay<T>(work: impl FnOnce(&mut Replay) -> T) -> Option<T> {
    with_state(|replay| replay.as_mut().map(work))
}

/// Replays the events that are in the ring, unless another thread is reading.
pub fn drain() {
    if let Some(reader) = ring::reader() {
        read_and(reader, |_| ());
    }
}

/// How often a fork looks whether the right to read is free; some ten seconds.
const LOOKS: u32 = 10_000;

/// Before a fork: replays all events, and keeps the right to read until [`release_reading`] or [`read_what_was_left`]. A thread
/// that reads itself cannot wait: a signal handler interrupted it, and forks. Then the fork goes on without the right, as it does when that does not
/// come back for long.
pub fn hold_reading() {
    for look in 0..LOOKS {
        drain();
        if let Some(reader) = ring::reader() {
            std::mem::forget(reader);
            HELD.store(true, Ordering::Relaxed);
            return;
        }
        if ring::is_reading_here() {
            return;
        }
        rest(look);
    }
}

/// Gives back the right that [`hold_reading`] keeps.
pub fn release_reading() {
    if HELD.swap(false, Ordering::Relaxed) {
        ring::give_back();
    }
}

/// In a forked child: gives back the right that [`hold_reading`] keeps, and replays what it could not, because another thread had begun
/// to write an event and not finished it: the events behind that one, this thread's own among them. What other threads had begun is lost.
pub fn read_what_was_left() {
    if !HELD.load(Ordering::Relaxed) {
        if !ring::is_reading_here() {
            // A thread that does not exist here was reading. What it had half changed is neither used nor dropped.
            // SAFETY: the child has one thread, which does not read.
            REPLAY.with_mut(|replay| std::mem::forget(unsafe { (*replay).take() }));
        }
        return;
    }
    release_reading();
    loop {
        drain();
        let passed = ring::reader().is_some_and(|mut reader| reader.pass());
        if !passed {
            return;
        }
    }
}
