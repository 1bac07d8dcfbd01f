//! Cancellation of the calling thread (pthread_cancel(3)). It takes effect when the thread waits for something, and the tracker waits where the
//! functions do not that the program has called: `_exit`, `fork`, `exec`.
use std::ffi::c_int;

/// Does `work`; a cancellation that is asked for meanwhile, or was before, takes effect later.
pub fn without_cancellation<T>(work: impl FnOnce() -> T) -> T {
    let before = set(DISABLED);
    let done = work();
    set(before);
    done
}

/// `PTHREAD_CANCEL_DISABLE` of glibc and musl.
const DISABLED: c_int = 1;

/// Sets the state of cancellation; returns the one before.
#[cfg(target_os = "linux")]
fn set(state: c_int) -> c_int {
    unsafe extern "C" {
        /// `pthread_setcancelstate(3)`, which the package `libc` does not declare for Linux.
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    let mut before = 0;
    // SAFETY: the place is valid for the call, and both states are ones that the function takes.
    unsafe { pthread_setcancelstate(state, &raw mut before) };
    before
}

#[cfg(not(target_os = "linux"))]
fn set(_state: c_int) -> c_int {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn it_is_as_before_behind_the_work() {
        assert_eq!(without_cancellation(|| without_cancellation(|| set(DISABLED))), DISABLED);
        assert_eq!(set(0), 0);
    }
}
