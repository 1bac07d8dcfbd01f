//! Asking the recorder's thread to end the recording, from a thread that may hold any lock: one that calls `_exit` in a
//! signal handler, for example. The asking thread only writes one word and waits; the recorder's thread sees the word on
//! its next look and does the work.
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use alloc_timeline::Ending;

use crate::event::ring;
use crate::sys;

/// How the recording is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Request {
    /// Write the timeline of a process that ends.
    Exit = 1,
    /// Write no timeline, and remove the log.
    Discard = 2,
    /// Write the timeline; the process goes on without a recording.
    Stop = 3,
    /// Write the timeline of a process that ends because the user interrupted it.
    Interrupt = 4,
}

impl Request {
    /// How the timeline says that it ended; `None` when there is to be none.
    pub fn ending(self) -> Option<Ending> {
        match self {
            Request::Exit => Some(Ending::Exit),
            Request::Discard => None,
            Request::Stop => Some(Ending::Finished),
            Request::Interrupt => Some(Ending::Interrupted),
        }
    }
}

/// What is asked; 0 is nothing.
static ASKED: AtomicU8 = AtomicU8::new(0);
/// The process whose recorder's thread runs; 0 when none does. A child that shares the parent's memory (vfork), or that
/// has a copy of it (fork), has another id.
static RUNNING: AtomicU32 = AtomicU32::new(0);

/// Notes that the recorder's thread of this process runs.
pub fn thread_begins() {
    ASKED.store(0, Ordering::Relaxed);
    RUNNING.store(std::process::id(), Ordering::Release);
}

/// Notes that the recording is over, and its file written.
pub fn thread_is_over() {
    RUNNING.store(0, Ordering::Release);
}

/// What was asked, for the recorder's thread.
pub fn asked() -> Option<Request> {
    match ASKED.load(Ordering::Acquire) {
        0 => None,
        1 => Some(Request::Exit),
        2 => Some(Request::Discard),
        4 => Some(Request::Interrupt),
        _ => Some(Request::Stop),
    }
}

/// Whether this process has a recorder that runs.
pub fn is_recorded() -> bool {
    RUNNING.load(Ordering::Acquire) == std::process::id()
}

/// How long the end of the process may wait for its timeline, in nanoseconds. Names of calls are looked up for at most 20 s.
const PATIENCE_NS: u64 = 30_000_000_000;

/// Asks for the end of the recording in the way that `request` says, and waits until it is over. Does nothing, and calls nothing, in a process that is not
/// recorded: a child of `vfork`, or one that was forked while another thread had the loader's lock, could not look for libraries. Nor where a signal
/// handler has interrupted this thread as it read events, which the recorder's thread would wait for: the log stays. Apart from `request` it
/// allocates nothing and takes no lock.
pub fn ask(request: impl FnOnce() -> Request) {
    if is_recorded() && !ring::is_reading_here() {
        sys::without_cancellation(|| ask_and_wait(request));
    }
}

fn ask_and_wait(request: impl FnOnce() -> Request) {
    let began = sys::now_ns();
    ASKED.store(request() as u8, Ordering::Release);
    let pause = libc::timespec { tv_sec: 0, tv_nsec: 500_000 };
    // What a handler has interrupted may hold a lock of the allocator's, for which the recorder's threads wait.
    let mut progress = sys::in_handler().then(|| Progress { at_ns: began, cpu_ns: others_cpu_ns() });
    while RUNNING.load(Ordering::Acquire) != 0 && sys::now_ns() < began + PATIENCE_NS {
        if progress.as_mut().is_some_and(|progress| !progress.goes_on()) {
            return;
        }
        // SAFETY: the time is valid for the call, and nobody wants to know what was left of it.
        unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) };
    }
}

/// So long other threads may do nothing while a signal's handler waits for the end of the recording, in nanoseconds ...
const IDLE_NS: u64 = 2_000_000_000;
/// ... where less processor time than this is nothing.
const NOTHING_NS: u64 = 20_000_000;

/// When other threads were last seen to do something.
struct Progress {
    at_ns: u64,
    cpu_ns: u64,
}

impl Progress {
    fn goes_on(&mut self) -> bool {
        let (now, cpu_ns) = (sys::now_ns(), others_cpu_ns());
        if cpu_ns.saturating_sub(self.cpu_ns) > NOTHING_NS {
            *self = Progress { at_ns: now, cpu_ns };
        }
        now.saturating_sub(self.at_ns) < IDLE_NS
    }
}

/// The processor time of all threads but this one.
fn others_cpu_ns() -> u64 {
    sys::process_cpu_ns().saturating_sub(sys::thread_cpu_ns())
}
