//! Errands: work that one thread has another do, and waits for, because the other one has other descriptors.
//!
//! ```text
//! program's threads ---work--> alloc-files     the tracker's own descriptors: it starts the recorder's threads, which share them
//!                                  |
//!                              alloc-recorder, alloc-worker
//!                                  |
//!                                  +--work--> alloc-calls     the program's descriptors: its functions, its stderr, drivers
//! ```
//!
//! Where the kernel refuses a table of descriptors, the threads have the program's, and nothing else is different.
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::ledger::as_tracker_thread;
use crate::sys;

type Work = Box<dyn FnOnce() + Send>;

/// So often somebody who waits for work asks whether the thread still does it.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// A thread that does one errand after the other. Dropping it waits until those that were sent are done.
#[derive(Debug)]
pub struct Errands {
    work: Arc<sys::Queue<Work>>,
    thread: Option<sys::Thread>,
    /// Set when the thread does not come back from what it does now.
    is_gone: AtomicBool,
    /// Set while the thread runs a function of the program's.
    is_in_function: Arc<AtomicBool>,
}

impl Errands {
    /// Starts the thread with the descriptors of the calling one.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn with_same_descriptors(name: &'static std::ffi::CStr) -> io::Result<Self> {
        Self::start(name, || ())
    }

    /// Starts the thread with descriptors of its own, where the kernel allows that.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn with_own_descriptors(name: &'static std::ffi::CStr) -> io::Result<Self> {
        // `KeptFile` takes care of what is opened in a table that the program uses too.
        Self::start(name, || {
            let _ = sys::own_descriptors();
        })
    }

    fn start(name: &'static std::ffi::CStr, first: fn()) -> io::Result<Self> {
        let work = Arc::new(sys::Queue::<Work>::default());
        let asked = Arc::clone(&work);
        let thread = sys::Thread::spawn(name, move || {
            as_tracker_thread(|| {
                first();
                while let Some(work) = asked.wait() {
                    // Who waits finds out by the answer that does not come.
                    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                }
            });
        })?;
        Ok(Errands { work, thread: Some(thread), is_gone: AtomicBool::new(false), is_in_function: Arc::default() })
    }

    /// Has the thread do `work`, and waits for what comes of it; `None` when the work panicked, or the thread is gone. While the thread runs a
    /// function of the program's, nobody waits, because that function may wait for whoever asks: the work is done later, and the answer is `None`.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        self.send(work).wait_while(|| !self.is_gone() && !self.is_in_function.load(Ordering::Acquire))
    }

    /// Has the thread run a function of the program's, and waits for what comes of it; `None` when it panicked, or the thread is gone.
    pub fn call<T: Send + 'static>(&self, function: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let running = Running(Arc::clone(&self.is_in_function));
        let work = move || {
            running.0.store(true, Ordering::Release);
            let result = function();
            drop(running);
            result
        };
        self.send(work).wait_while(|| !self.is_gone())
    }

    fn send<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Arc<Answer<T>> {
        let answer = Arc::new(Answer::default());
        let told = Told(Arc::clone(&answer));
        let work = move || {
            let result = work();
            *told.0.result() = Some(result);
        };
        self.work.send(Box::new(work));
        answer
    }

    fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    /// To be called when a session ends: if that is on this very thread, because a function of the program's that it calls has
    /// called `exit`, nobody waits for the function any more.
    pub fn session_ends(&self) {
        if self.thread.as_ref().is_some_and(sys::Thread::is_current) {
            self.is_gone.store(true, Ordering::Release);
        }
    }
}

/// What comes of an errand. Whoever waits for it sleeps by the kernel's clock, which the program cannot replace.
#[derive(Debug)]
struct Answer<T> {
    is_there: sys::StopFlag,
    result: Mutex<Option<T>>,
}

impl<T> Default for Answer<T> {
    fn default() -> Self {
        Answer { is_there: sys::StopFlag::default(), result: Mutex::new(None) }
    }
}

impl<T> Answer<T> {
    /// Waits for it as long as `waits` says so.
    fn wait_while(&self, waits: impl Fn() -> bool) -> Option<T> {
        loop {
            if self.is_there.sleep(BETWEEN_LOOKS) {
                return self.result().take();
            }
            if !waits() {
                return None;
            }
        }
    }

    fn result(&self) -> MutexGuard<'_, Option<T>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says that the program's function has returned when it is dropped: also when it has panicked.
struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Says that the answer is there when it is dropped: also when the work has panicked, or was never begun.
struct Told<T>(Arc<Answer<T>>);

impl<T> Drop for Told<T> {
    fn drop(&mut self) {
        self.0.is_there.set();
    }
}

impl Drop for Errands {
    fn drop(&mut self) {
        self.work.close();
        if !self.is_gone() {
            let _ = self.thread.take().map(sys::Thread::join);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn work_is_done_before_who_asked_goes_on() {
        let errands = Errands::with_same_descriptors(c"errands").expect("a thread");
        let name = errands.run(|| std::fs::read_to_string("/proc/thread-self/comm").expect("/proc"));
        assert_eq!(name.as_deref(), Some("errands\n"));
    }

    #[test]
    fn a_panic_costs_one_errand() {
        let errands = Errands::with_same_descriptors(c"errands").expect("a thread");
        // A panic without its message, which would not be taken for one of this test.
        assert_eq!(errands.run(|| -> u32 { panic::resume_unwind(Box::new("meant")) }), None);
        assert_eq!(errands.run(|| 7), Some(7));
    }

    /// A function of the program's that ends the session does not come back before the session has ended.
    #[test]
    fn nobody_waits_for_work_that_ends_the_session() {
        let errands = Arc::new(Errands::with_same_descriptors(c"errands").expect("a thread"));
        let (end, ended) = mpsc::channel::<()>();
        let inner = Arc::clone(&errands);
        let work = move || {
            inner.session_ends();
            drop(inner);
            let _ = ended.recv();
        };
        assert_eq!(errands.run(work), None);
        assert_eq!(errands.run(|| 7), None);
        drop(errands);
        drop(end);
    }
}
