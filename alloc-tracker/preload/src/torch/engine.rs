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
use std::sync::atomic::{AtomicUsize, Ordering};

use super::nested;
use super::running::{MOST_EVENTS, Running, on_this_thread};

/// Where the engine makes its records: what the call returns to. 0: not known.
static PLACE: AtomicUsize = AtomicUsize::new(0);

/// A record of the scope of operators is made at an address, called from `place`. Whether it is an event that runs without a name
/// from now on.
pub fn is_made(record: usize, place: usize) -> bool {
    if !nested::is_on() {
        return false;
    }
    let made = |running: &Running| {
        let count = running.event_count.get();
        // An event within so many others is told with its name.
        if PLACE.load(Ordering::Relaxed) != place || count == MOST_EVENTS {
            running.made_record.set((record, place));
            return false;
        }
        running.events[count].set(record);
        running.event_count.set(count + 1);
        true
    };
    on_this_thread(made).unwrap_or(false)
}

/// An event has come with its name, and with this record.
pub fn came(record: usize) {
    on_this_thread(|running| {
        let made = running.made_record.get();
        if made.0 == record {
            running.named_event.set(made);
        }
    });
}

/// A record is destroyed. Whether it was an event that ran without a name.
pub fn is_destroyed(record: usize) -> bool {
    let destroyed = |running: &Running| {
        let count = running.event_count.get();
        if count > 0 && running.events[count - 1].get() == record {
            running.event_count.set(count - 1);
            return true;
        }
        let (named, place) = running.named_event.get();
        if named == record && named != 0 {
            running.named_event.set((0, 0));
            PLACE.store(place, Ordering::Relaxed);
        }
        false
    };
    on_this_thread(destroyed).unwrap_or(false)
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
        assert!(is_made(250, 8), "within two others");
        assert!(is_destroyed(250) && is_destroyed(200) && is_destroyed(100) && !is_destroyed(100));
    }
}
