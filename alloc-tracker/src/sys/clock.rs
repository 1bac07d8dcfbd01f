//! Time stamps that go only forward. The kernel's monotonic clock does by itself; one that was put in its place, or that
//! of a process brought to another machine, may not.
use std::sync::atomic::{AtomicU64, Ordering};

/// How far the clock has gone back in all, in nanoseconds.
static BACK: AtomicU64 = AtomicU64::new(0);

/// Nanoseconds of the monotonic clock. Async-signal-safe; reads the vDSO, so no system call on usual kernels.
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC).wrapping_add(BACK.load(Ordering::Relaxed))
}

/// The same for one that keeps its latest reading: should the clock have gone back since, all times go on from there.
pub fn later_ns(latest_ns: u64) -> u64 {
    let now = now_ns();
    if now < latest_ns {
        BACK.fetch_add(latest_ns - now, Ordering::Relaxed);
    }
    now.max(latest_ns)
}

/// Nanoseconds since 1970, for the one line of a file that says when a run began.
pub fn unix_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the duration of the call; both clocks exist on every Linux.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    if status != 0 {
        return 0;
    }
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
