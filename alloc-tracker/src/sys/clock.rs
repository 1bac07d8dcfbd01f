//! Time stamps that never go back. The kernel's monotonic clock never does by itself. But a program may put its own
//! `clock_gettime` in front of the C library's, and a process may be moved to a machine whose clock shows less.
use std::sync::atomic::{AtomicU64, Ordering};

/// The sum of all the clock's jumps backwards so far, in nanoseconds.
static BACK: AtomicU64 = AtomicU64::new(0);

/// Nanoseconds of the monotonic clock. Async-signal-safe; reads the vDSO, so no system call on usual kernels.
pub fn now_ns() -> u64 {
    corrected(|| read(libc::CLOCK_MONOTONIC), &BACK)
}

/// What `clock` shows and how far it has gone back.
fn corrected(clock: impl FnOnce() -> u64, back: &AtomicU64) -> u64 {
    // First how far: a reading of before a correction must not get it.
    let back = back.load(Ordering::Acquire);
    clock().wrapping_add(back)
}

/// The time in nanoseconds, never less than `latest_ns`, the caller's last reading. If the clock has gone back since
/// that reading, the difference is added to all later times of the process.
pub fn later_ns(latest_ns: u64) -> u64 {
    let now = now_ns();
    if now < latest_ns {
        BACK.fetch_add(latest_ns - now, Ordering::Release);
    }
    now.max(latest_ns)
}

/// Nanoseconds since 1970 (UTC). A timeline uses them only to say when its run began.
pub fn unix_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// The time that a clock of the system shows, in nanoseconds; 0 when there is no such clock.
pub(super) fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the duration of the call; the clocks that callers name exist on every Linux.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    if status != 0 {
        return 0;
    }
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread reads the clock; before it goes on, the clock goes back by an hour and another thread corrects all times.
    /// The reading is of before: with the correction it would be an hour ahead of everything that follows.
    #[test]
    fn a_correction_does_not_reach_a_reading_of_before() {
        let back = AtomicU64::new(0);
        let clock = || {
            let reading = 5_000;
            back.store(3_600_000_000_000, Ordering::Release);
            reading
        };
        assert_eq!(corrected(clock, &back), 5_000);
    }
}
