//! How the recorder's thread goes from tick to tick: asleep, unless something may not wait.
use std::time::Duration;

use super::{Desk, Shared, desk_of, dump};
use crate::event::ring;
use crate::sys;

/// Between two ticks the recorder looks up this often while there is something to be seen that may not wait ...
const KEEN: Duration = Duration::from_millis(2);
/// ... and this often otherwise: with ticks as usual, not at all.
const LAZY: Duration = Duration::from_millis(10);
/// There is while so large a part of the ring would fill up in a lazy look.
const RING_PART: u64 = 8;

/// Sleeps until the next tick, looking up in between; whether the recording is to end.
pub(super) fn wait(shared: &Shared, pause: Duration) -> bool {
    let end = sys::now_ns() + pause.as_nanos() as u64;
    loop {
        let left = end.saturating_sub(sys::now_ns());
        let pace = desk_of(shared).as_ref().map_or(LAZY, Desk::pace);
        if shared.stop.sleep(Duration::from_nanos(left).min(pace)) {
            return true;
        }
        if sys::now_ns() >= end {
            return false;
        }
        if let Some(desk) = desk_of(shared).as_mut() {
            desk.look_up();
        }
        dump::watch(shared);
    }
}

impl Desk {
    /// How long it can go without looking up.
    fn pace(&self) -> Duration {
        let keen = !self.watch.is_empty() || self.is_rising || self.is_busy || self.misses_peak();
        if keen { KEEN } else { LAZY }
    }

    /// Notes how fast the ring fills up.
    pub(in crate::recorder) fn note_events(&mut self) {
        let (events, now) = (ring::passed(), self.now());
        let (fresh, time_ns) = (events - self.events.0, now - self.events.1);
        self.is_busy =
            u128::from(fresh) * LAZY.as_nanos() > u128::from(time_ns) * u128::from(ring::CAPACITY / RING_PART);
        self.events = (events, now);
    }
}
