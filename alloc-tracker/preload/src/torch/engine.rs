//! The autograd engine's own events, without their names. For each node libtorch puts one together, and takes a microsecond for the
//! text `autograd::engine::evaluate_function: AddmmBackward0`, of which only the beginning is needed. The engine makes its records in
//! one place of its code. That place is learned from the first event, which comes with its name. From then on a record that is made
//! there is an event, and libtorch is told that nobody wants to know of it.
//!
//! | this is seen | and means |
//! |---|---|
//! | a record is made, called from place P | it may be an event |
//! | a callback gets that record, with an event's name | P makes events |
//! | the record is destroyed | events from P can be told without a name: their ends are seen |
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::nested;

/// So many events may run on a thread, within each other. Those in them are told with their names.
const MOST: usize = 16;

/// Where the engine makes its records: what the call returns to. 0: not known.
static PLACE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The record that was made last, and from where.
    static MADE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// The record of an event that came with its name and runs, and from where.
    static NAMED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// The records of the events that run without a name, the innermost last.
    static RUNNING: [Cell<usize>; MOST] = const { [const { Cell::new(0) }; MOST] };
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// A record of the scope of operators is made at an address, called from `place`. Whether it is an event that runs without a name
/// from now on.
pub fn is_made(record: usize, place: usize) -> bool {
    if !nested::is_on() {
        return false;
    }
    let count = COUNT.get();
    if PLACE.load(Ordering::Relaxed) != place || count == MOST {
        MADE.set((record, place));
        return false;
    }
    RUNNING.with(|running| running[count].set(record));
    COUNT.set(count + 1);
    true
}

/// An event has come with its name, and with this record.
pub fn came(record: usize) {
    let made = MADE.get();
    if made.0 == record {
        NAMED.set(made);
    }
}

/// A record is destroyed. Whether it was an event that ran without a name.
pub fn is_destroyed(record: usize) -> bool {
    let count = COUNT.get();
    if count > 0 && RUNNING.with(|running| running[count - 1].get()) == record {
        COUNT.set(count - 1);
        return true;
    }
    let (named, place) = NAMED.get();
    if named == record && named != 0 {
        NAMED.set((0, 0));
        PLACE.store(place, Ordering::Relaxed);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_known_once_an_event_from_there_has_ended() {
        nested::begin();
        assert!(!is_made(100, 7) && !is_destroyed(100), "a record that is no event");
        assert!(!is_made(100, 7) && !is_made(200, 8));
        came(200);
        assert!(!is_made(300, 8), "its end was not seen yet");
        assert!(!is_destroyed(200));
        assert!(is_made(100, 8) && !is_made(150, 7) && is_made(200, 8));
        assert!(!is_destroyed(150));
        assert!(is_destroyed(200) && is_destroyed(100) && !is_destroyed(100));
    }
}
