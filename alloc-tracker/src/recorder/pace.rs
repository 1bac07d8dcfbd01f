//! How long the recorder's thread may sleep between two looks.
use std::time::Duration;

use super::interval::MOST_AFFORDABLE;
use crate::event::ring;

/// The longest sleep between two looks while a look is urgent or the ring fills up fast ...
const URGENT: Duration = Duration::from_millis(2);
/// ... and otherwise. The recorder then does not look between two ticks, unless the session was given a longer interval.
const USUAL: Duration = MOST_AFFORDABLE;
/// The ring fills up fast when more than 1 part in this of it ...
const RING_PART: u64 = 8;
/// ... is filled in so many nanoseconds.
const RING_NS: u128 = 10_000_000;

/// The speed at which the ring fills up.
#[derive(Debug)]
pub struct Pace {
    /// How many places of the ring had been read at the last look, and the clock's time then.
    places: u64,
    time_ns: u64,
    is_busy: bool,
}

impl Pace {
    /// Begins to measure the speed.
    pub fn new(now_ns: u64) -> Self {
        Pace { places: ring::places_read(), time_ns: now_ns, is_busy: false }
    }

    /// Measures the speed since the last call.
    pub fn look(&mut self, now_ns: u64) {
        let places = ring::places_read();
        let (fresh, time_ns) = (places - self.places, now_ns - self.time_ns);
        self.is_busy = u128::from(fresh) * RING_NS > u128::from(time_ns) * u128::from(ring::CAPACITY / RING_PART);
        (self.places, self.time_ns) = (places, now_ns);
    }

    /// How long the recorder may sleep until it looks.
    pub fn sleep(&self, is_urgent: bool) -> Duration {
        if is_urgent || self.is_busy { URGENT } else { USUAL }
    }
}
