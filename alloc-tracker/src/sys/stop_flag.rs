//! A flag that ends a thread's sleep. The kernel measures the time of the sleep, so that a program which replaces the
//! clock does not change it.
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A flag that starts unset, is set at most once, and stays set.
#[derive(Debug, Default)]
pub struct StopFlag(AtomicU32);

impl StopFlag {
    /// Sets the flag and wakes all threads that sleep on it.
    pub fn set(&self) {
        self.0.store(1, Ordering::Release);
        // SAFETY: the word is valid for the call; FUTEX_WAKE reads nothing of it.
        unsafe {
            libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, i32::MAX)
        };
    }

    /// Sleeps for about `time`. The sleep ends early when the flag is set, and may end early for no reason (a spurious
    /// wake-up). Returns whether the flag is set.
    pub fn sleep(&self, time: Duration) -> bool {
        let time = libc::timespec { tv_sec: time.as_secs() as libc::time_t, tv_nsec: time.subsec_nanos().into() };
        // SAFETY: the word and the time are valid for the call. The kernel sleeps only while the word is 0.
        unsafe {
            let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, 0, &raw const time, ptr::null::<u32>(), 0)
        };
        self.0.load(Ordering::Acquire) != 0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A thread that would sleep for an hour wakes when the flag is set, and one that comes later does not sleep at
    /// all.
    #[test]
    fn setting_the_flag_ends_sleeps() {
        let (flag, began) = (StopFlag::default(), Instant::now());
        assert!(!flag.sleep(Duration::from_millis(1)));
        std::thread::scope(|threads| {
            let sleeper = threads.spawn(|| while !flag.sleep(Duration::from_secs(3_600)) {});
            std::thread::sleep(Duration::from_millis(20));
            flag.set();
            sleeper.join().expect("it woke");
        });
        assert!(flag.sleep(Duration::from_secs(3_600)));
        assert!(began.elapsed() < Duration::from_secs(1_800), "nobody slept for an hour");
    }
}
