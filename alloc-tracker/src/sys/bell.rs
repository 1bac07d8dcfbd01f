//! A bell: a thread sleeps for a time or until it rings. The time is the kernel's: whatever a program has put in the place
//! of the clock does not reach it.
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Rings once and for all.
#[derive(Debug, Default)]
pub struct Bell(AtomicU32);

impl Bell {
    /// Rings, and wakes who sleeps.
    pub fn ring(&self) {
        self.0.store(1, Ordering::Release);
        // SAFETY: the word is valid for the call; FUTEX_WAKE reads nothing of it.
        unsafe {
            libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, i32::MAX)
        };
    }

    /// Sleeps for about `time`, or less when the bell rings or the kernel has a reason; whether it has rung.
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

    /// Who sleeps for an hour wakes when it rings, and whoever comes later does not sleep at all.
    #[test]
    fn it_wakes_who_sleeps() {
        let (bell, began) = (Bell::default(), Instant::now());
        assert!(!bell.sleep(Duration::from_millis(1)));
        std::thread::scope(|threads| {
            let sleeper = threads.spawn(|| while !bell.sleep(Duration::from_secs(3_600)) {});
            std::thread::sleep(Duration::from_millis(20));
            bell.ring();
            sleeper.join().expect("it woke");
        });
        assert!(bell.sleep(Duration::from_secs(3_600)));
        assert!(began.elapsed() < Duration::from_secs(1_800), "nobody slept for an hour");
    }
}
