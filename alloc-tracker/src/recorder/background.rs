//! Work that takes longer than a tick: walking all pages of a large process, and writing a shorter log. A thread of its
//! own does one job after the other, and ends with the recording.
//!
//! ```text
//! recorder --Job--> background      the recorder does not wait for the result
//!          <-Done--                 the recorder takes it between two ticks
//! ```
//!
//! The two threads share nothing but these messages. A forked child has neither thread and does not touch the messages.
use std::sync::Arc;
use std::time::Duration;

use alloc_timeline::log::{Compacted, Compaction};

use crate::ledger::as_tracker_thread;
use crate::probe::beyond::BeyondReadings;
use crate::probe::child_looks::{Found, Looks};
use crate::probe::spent::{Probe, Stopwatch};
use crate::probe::survey::{Known, Survey};
use crate::probe::threads;
use crate::sys;

/// A job for the thread.
#[derive(Debug)]
pub enum Job {
    /// Survey all mappings, with what is known from the survey before.
    Survey(Option<Known>),
    /// Read what is beyond the resident set, with about so long for the other processes of the group.
    Beyond(Duration),
    /// Look at the child processes.
    Children(Looks),
    /// Write a shorter log.
    Compact(Compaction),
}

/// The result of a job.
#[derive(Debug)]
pub enum Done {
    /// The survey, and how many nanoseconds of processor time it took.
    Survey(Box<Survey>, u64),
    /// What is beyond the resident set.
    Beyond(Box<BeyondReadings>),
    /// The child processes.
    Children(Box<Found>),
    /// The shorter log.
    Compact(std::io::Result<Compacted>),
}

/// The thread and its two queues. Dropping it waits until the jobs that were sent are done.
#[derive(Debug)]
pub struct Background {
    jobs: Arc<sys::Queue<Job>>,
    done: Arc<sys::Queue<Done>>,
    thread: Option<sys::Thread>,
}

impl Background {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn start() -> std::io::Result<Self> {
        let (jobs, done) = (Arc::new(sys::Queue::default()), Arc::new(sys::Queue::default()));
        let (asked, answers) = (Arc::clone(&jobs), NoMore(Arc::clone(&done)));
        let work = move || {
            as_tracker_thread(|| {
                threads::learn_layout();
                while let Some(job) = asked.wait() {
                    answers.0.send(perform(job));
                }
            });
        };
        let thread = sys::Thread::spawn(c"alloc-worker", work)?;
        Ok(Background { jobs, done, thread: Some(thread) })
    }

    /// Sends a job.
    pub fn ask(&self, job: Job) {
        // When the thread has panicked, the result of this job is missing, and nothing else.
        self.jobs.send(job);
    }

    /// The next result that is ready, if any.
    pub fn done(&self) -> Option<Done> {
        self.done.take()
    }

    /// Waits for the next result; `None` when the thread has ended.
    pub fn wait(&self) -> Option<Done> {
        self.done.wait()
    }
}

/// Ends the results with the thread, also when it panics.
struct NoMore(Arc<sys::Queue<Done>>);

impl Drop for NoMore {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.jobs.close();
        // A panic in the thread loses a survey, not the program.
        let _ = self.thread.take().map(sys::Thread::join);
    }
}

fn perform(job: Job) -> Done {
    match job {
        Job::Survey(known) => {
            let mut watch = Stopwatch::start();
            let survey = Box::new(known.map_or_else(Survey::take, |known| Survey::again(&known)));
            Done::Survey(survey, watch.lap(Probe::Survey))
        }
        Job::Beyond(neighbours) => {
            let mut watch = Stopwatch::start();
            let readings = Box::new(BeyondReadings::take(neighbours));
            watch.lap(Probe::Beyond);
            Done::Beyond(readings)
        }
        Job::Children(looks) => Done::Children(Box::new(looks.look(sys::now_ns()))),
        Job::Compact(compaction) => Done::Compact(compaction.write()),
    }
}
