//! The session's clock.
use crate::sys;

/// The monotonic clock and the time when the session began, both in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct SessionClock {
    start_ns: u64,
    latest_ns: u64,
}

impl SessionClock {
    /// A clock for a session that begins now.
    pub fn start() -> Self {
        let start_ns = sys::now_ns();
        SessionClock { start_ns, latest_ns: start_ns }
    }

    /// The clock's time when the session began.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// The clock's time now; never earlier than the result of the call before.
    pub fn now_ns(&mut self) -> u64 {
        self.latest_ns = sys::later_ns(self.latest_ns);
        self.latest_ns
    }

    /// The result of the latest call of [`now_ns`](Self::now_ns).
    pub fn latest_ns(&self) -> u64 {
        self.latest_ns
    }

    /// Converts a time of the clock to a time since the session began.
    pub fn since_start(&self, time_ns: u64) -> u64 {
        time_ns.saturating_sub(self.start_ns)
    }
}
