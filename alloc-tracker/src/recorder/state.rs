//! The replay that is under way, and the one rule for touching it: whoever holds the ring's reading right may.
use super::replay::Replay;
use crate::event::ring::{self, Reader};
use crate::ledger::pool;
use crate::scope::as_tracker;
use crate::sys::sync::{AtomicBool, Guarded, Ordering, statics, yield_now};

statics! {
    /// Touched only in `with`, by the one thread that holds the ring's Reader.
    static STATE: Guarded<Option<Replay>> = Guarded::new(None);
}

/// Reads all events that are there and then runs `work`, all with the tracker as the owner of what it allocates.
fn with<T>(mut reader: Reader, work: impl FnOnce(&mut Option<Replay>) -> T) -> T {
    let locked = || {
        STATE.with_mut(|state| {
            // SAFETY: `reader` is the only one, and lives until the reference is gone.
            let state = unsafe { &mut *state };
            while let Some((number, event)) = reader.next() {
                if let Some(replay) = state {
                    replay.apply(number, &event);
                }
            }
            work(state)
        })
    };
    match pool::acquire() {
        Some(slot) => as_tracker(slot, locked),
        None => pool::as_tracker_without_slot(locked),
    }
}

/// Runs `work` on the replay, after all events that are there; waits for its turn.
pub fn work<T>(work: impl FnOnce(&mut Option<Replay>) -> T) -> T {
    loop {
        if let Some(reader) = ring::reader() {
            return with(reader, work);
        }
        yield_now();
    }
}

statics! {
    /// Whether [`hold`] has the right to read.
    static HELD: AtomicBool = AtomicBool::new(false);
}

/// Reads all events that are there and keeps the right to read until [`let_go`]: around a fork. Somebody who does not
/// give it up for long must be this very thread, interrupted by the signal handler that forks: then without.
pub fn hold() {
    for _ in 0..10_000 {
        drain();
        if let Some(reader) = ring::reader() {
            std::mem::forget(reader);
            HELD.store(true, Ordering::Relaxed);
            return;
        }
        yield_now();
    }
}

/// Gives back the right that [`hold`] keeps.
pub fn let_go() {
    if HELD.swap(false, Ordering::Relaxed) {
        ring::give_back();
    }
}

/// Reads the events that are there, unless somebody is at it.
pub fn drain() {
    if let Some(reader) = ring::reader() {
        with(reader, |_| ());
    }
}

/// What a thread does that waits for a place in the ring: read, and let others go on: the one that reads, or the one that
/// has claimed the next place and not written it yet.
pub fn help() {
    drain();
    yield_now();
}
