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

use alloc_tracker::thread_word;

use super::nested;

/// So many events may run on a thread, within each other. Those in them are told with their names.
const MOST: usize = 16;

/// Where the engine makes its records: what the call returns to. 0: not known.
static PLACE: AtomicUsize = AtomicUsize::new(0);

thread_word!(
    /// The record that was made last.
    made: usize, "alloc_tracker_made_record", const 0, 0
);
thread_word!(
    /// From where it was made.
    made_from: usize, "alloc_tracker_made_record_from", const 0, 0
);
thread_word!(
    /// The record of an event that came with its name and runs; 0 where none does.
    named: usize, "alloc_tracker_named_event", const 0, 0
);
thread_word!(
    /// From where it was made.
    named_from: usize, "alloc_tracker_named_event_from", const 0, 0
);
thread_word!(
    /// So many events run without a name.
    count: usize, "alloc_tracker_event_count", const 0, 0
);
thread_word!(
    /// The record of the innermost of these.
    innermost: usize, "alloc_tracker_innermost_event", const 0, 0
);

thread_local! {
    /// The records of those around it, the outermost first.
    static AROUND: [Cell<usize>; MOST - 1] = const { [const { Cell::new(0) }; MOST - 1] };
}

/// A record of the scope of operators is made at an address, called from `place`. Whether it is an event that runs without a name
/// from now on.
pub fn is_made(record: usize, place: usize) -> bool {
    if !nested::is_on() {
        return false;
    }
    let count = count::get();
    if PLACE.load(Ordering::Relaxed) != place || count == MOST {
        made::set(record);
        made_from::set(place);
        return false;
    }
    if count > 0 {
        AROUND.with(|around| around[count - 1].set(innermost::get()));
    }
    innermost::set(record);
    count::set(count + 1);
    true
}

/// An event has come with its name, and with this record.
pub fn came(record: usize) {
    if made::get() == record {
        named::set(record);
        named_from::set(made_from::get());
    }
}

/// A record is destroyed. Whether it was an event that ran without a name.
pub fn is_destroyed(record: usize) -> bool {
    let count = count::get();
    if count > 0 && innermost::get() == record {
        if count > 1 {
            innermost::set(AROUND.with(|around| around[count - 2].get()));
        }
        count::set(count - 1);
        return true;
    }
    if named::get() == record {
        named::set(0);
        PLACE.store(named_from::get(), Ordering::Relaxed);
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
        assert!(is_made(250, 8), "within two others");
        assert!(is_destroyed(250) && is_destroyed(200) && is_destroyed(100) && !is_destroyed(100));
    }
}
