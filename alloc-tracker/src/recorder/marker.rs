//! Marks with books, on a thread of the tracker's: what a book takes while it is read is not of the program's arenas then.
//! The thread is made for the first such mark.
//!
//! ```text
//! program's thread --Job--> marker      the program's thread waits for the answer
//!                  <--()---
//! ```
use std::io;
use std::sync::mpsc::{self, Sender};

use crate::ledger::as_tracker_thread;
use crate::sys;

/// A mark's name, and who waits for it.
type Job = (String, Sender<()>);

/// The thread and the way to it.
#[derive(Debug)]
pub struct Marker {
    jobs: Option<Sender<Job>>,
    thread: Option<sys::Thread>,
}

impl Marker {
    /// Starts the thread; `take` takes a mark of the name that it gets.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start(take: impl Fn(&str) + Send + 'static) -> io::Result<Self> {
        let (jobs, asked) = mpsc::channel::<Job>();
        let work = move || {
            as_tracker_thread(|| {
                for (name, taken) in asked {
                    take(&name);
                    // Whoever asked waits for this.
                    let _ = taken.send(());
                }
            });
        };
        let thread = sys::Thread::spawn(c"alloc-marker", work)?;
        Ok(Marker { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Has a mark taken, and waits for it. When the thread has panicked, the mark is missing, and nothing else.
    pub fn mark(&self, name: &str) {
        let (taken, wait) = mpsc::channel();
        if let Some(jobs) = &self.jobs
            && jobs.send((name.to_owned(), taken)).is_ok()
        {
            let _ = wait.recv();
        }
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        self.jobs = None;
        // A panic in the thread loses a mark, not the program.
        let _ = self.thread.take().map(sys::Thread::join);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn a_mark_is_taken_before_the_program_goes_on() {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&taken);
        let marker = Marker::start(move |name| list.lock().expect("the list").push(name.to_owned())).expect("a thread");
        for name in ["first", "second"] {
            marker.mark(name);
            assert_eq!(taken.lock().expect("the list").last().map(String::as_str), Some(name));
        }
    }

    #[test]
    fn a_panic_costs_marks_and_nothing_else() {
        let marker = Marker::start(|_| panic!("on purpose")).expect("a thread");
        marker.mark("first");
        marker.mark("second");
    }
}
