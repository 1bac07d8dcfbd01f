//! Time stamps that go only forward.

/// Nanoseconds of the monotonic clock. Async-signal-safe; reads the vDSO, so no system call on usual kernels.
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
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
