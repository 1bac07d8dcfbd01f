//! Whether a signal's handler runs. What it has interrupted holds whatever it held: a lock of the allocator's, for example.

/// Signals that a handler may be for.
const SIGNALS: std::ops::RangeInclusive<i32> = 1..=64;

/// Whether this thread seems to run the handler of a signal. It is guessed from this: while a handler runs, its signal is blocked, and few threads
/// block a signal that has a handler, but for those that block all. A handler that says `SA_NODEFER`, or blocks all others, is not found. May be
/// called in a handler.
pub fn in_handler() -> bool {
    // SAFETY: both are plain data for which zeroes are a value, and valid for the calls, which change nothing.
    unsafe {
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        if libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut blocked) != 0 {
            return false;
        }
        let is_blocked = |signal: i32| libc::sigismember(&raw const blocked, signal) == 1;
        if [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGCHLD].into_iter().all(is_blocked) {
            return false;
        }
        SIGNALS.filter(|&signal| is_blocked(signal)).any(|signal| {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
                && action.sa_sigaction != libc::SIG_DFL
                && action.sa_sigaction != libc::SIG_IGN
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_handler_knows_that_it_runs() {
        static SAW: AtomicBool = AtomicBool::new(false);
        extern "C" fn handler(_: i32) {
            SAW.store(in_handler(), Ordering::Relaxed);
        }
        // SAFETY: the handler has the signature of one, and nothing else here uses the signal.
        unsafe {
            libc::signal(libc::SIGUSR2, handler as extern "C" fn(i32) as usize);
            libc::raise(libc::SIGUSR2);
        }
        assert!(SAW.load(Ordering::Relaxed) && !in_handler());
    }
}
