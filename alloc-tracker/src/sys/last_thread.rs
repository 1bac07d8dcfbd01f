//! Whether the program has a thread left. The C library ends a process when its last thread ends, and counts the tracker's threads as
//! the program's: a program that has none of its own any more would go on for ever.
//!
//! A program ends in that way only when the thread whose number is the process's has ended before, by `pthread_exit`, or because it is
//! the thread of a forked child that was forked by no main thread. So nobody looks for threads until that one has ended.
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::tasks::ThreadCount;

/// Whether the thread has ended whose number is the process's.
static FIRST_HAS_ENDED: AtomicBool = AtomicBool::new(false);
/// How many threads of the tracker's have begun, and how many of them have ended.
static OWN_BEGUN: AtomicUsize = AtomicUsize::new(0);
static OWN_ENDED: AtomicUsize = AtomicUsize::new(0);

/// The calling thread of the program's ends.
pub fn thread_ends() {
    // SAFETY: both take nothing and cannot fail.
    if unsafe { libc::gettid() == libc::getpid() } {
        FIRST_HAS_ENDED.store(true, Ordering::Relaxed);
    }
}

/// Runs all that a thread of the tracker's does.
pub fn as_own(work: impl FnOnce()) {
    OWN_BEGUN.fetch_add(1, Ordering::SeqCst);
    work();
    OWN_ENDED.fetch_add(1, Ordering::SeqCst);
}

/// How many threads of the tracker's run.
pub fn own_threads() -> usize {
    // In this order: one that ends meanwhile is counted.
    let ended = OWN_ENDED.load(Ordering::SeqCst);
    OWN_BEGUN.load(Ordering::SeqCst) - ended
}

/// In a forked child: it has the forking thread and no other.
pub fn forked() {
    FIRST_HAS_ENDED.store(false, Ordering::Relaxed);
    OWN_BEGUN.store(0, Ordering::SeqCst);
    OWN_ENDED.store(0, Ordering::SeqCst);
}

/// Whether all threads of the program's have ended. To be asked by a thread of the tracker's.
pub fn program_has_none(threads: &ThreadCount) -> bool {
    if !FIRST_HAS_ENDED.load(Ordering::Relaxed) {
        return false;
    }
    // One of the tracker's that begins or ends meanwhile may be counted by the kernel and not in the numbers, or the other way round. Then the
    // answer is no, and the next one is right: a wrong yes would end a program that runs.
    let own = || (OWN_BEGUN.load(Ordering::SeqCst), OWN_ENDED.load(Ordering::SeqCst));
    let before = own();
    let tasks = threads.now().unwrap_or(usize::MAX);
    let (begun, ended) = own();
    // The first is counted until the process is over.
    before == (begun, ended) && tasks <= begun - ended + 1
}
