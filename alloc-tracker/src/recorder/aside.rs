//! What would keep the recorder from its samples for too long: walking all pages of a large process, and writing the log
//! anew. A second thread does it, one thing after the other, and ends with the recording.
//!
//! ```text
//! recorder --Job--> aside        asked for, and not waited for
//!          <-Done--              taken in between two samples
//! ```
//!
//! The two share nothing but these messages. A forked child has neither thread, and leaves the messages alone.
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};

use alloc_timeline::Record;

use super::thread::quietly;
use crate::probe::book::Survey;
use crate::sys;

/// What there is to be done.
#[derive(Debug)]
pub enum Job {
    /// Look at all mappings.
    Survey,
    /// Write these records as a log to this path.
    Log(Vec<Record>, PathBuf),
}

/// What was done.
#[derive(Debug)]
pub enum Done {
    /// The survey, if the kernel told, and how long it took, in nanoseconds.
    Survey(Option<Survey>, u64),
    /// The log, open at its end, and its length in bytes.
    Log(std::io::Result<(File, u64)>),
}

/// The thread and the ways to it. Dropping it waits for what is under way.
#[derive(Debug)]
pub struct Aside {
    jobs: Option<Sender<Job>>,
    done: Receiver<Done>,
    thread: Option<sys::Thread>,
}

impl Aside {
    /// Starts the thread.
    pub fn start() -> std::io::Result<Self> {
        let (jobs, asked) = mpsc::channel();
        let (answers, done) = mpsc::channel();
        let work = move || {
            quietly(|| {
                for job in asked {
                    // Nobody listens any more: the answer is not needed.
                    let _ = answers.send(perform(job));
                }
            });
        };
        let thread = sys::Thread::spawn(c"alloc-aside", work)?;
        Ok(Aside { jobs: Some(jobs), done, thread: Some(thread) })
    }

    /// Has something done.
    pub fn ask(&self, job: Job) {
        // A thread that has died gives no answers either: what it should have done is missing, nothing else.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
    }

    /// What was done since the last call, if anything was.
    pub fn done(&self) -> Option<Done> {
        self.done.try_recv().ok()
    }

    /// Waits until something is done; `None` when nothing will be any more.
    pub fn wait(&self) -> Option<Done> {
        self.done.recv().ok()
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        self.jobs = None;
        // A panic in the thread loses a survey, not the program.
        let _ = self.thread.take().map(sys::Thread::join);
    }
}

fn perform(job: Job) -> Done {
    match job {
        Job::Survey => {
            let began = sys::now_ns();
            let survey = Survey::make();
            Done::Survey(survey, sys::now_ns().saturating_sub(began))
        }
        Job::Log(records, path) => Done::Log(write(&records, &path)),
    }
}

fn write(records: &[Record], path: &Path) -> std::io::Result<(File, u64)> {
    let mut log = BufWriter::new(File::create(path)?);
    for record in records {
        serde_json::to_writer(&mut log, record)?;
        log.write_all(b"\n")?;
    }
    let log = log.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    let bytes = log.metadata()?.len();
    Ok((log, bytes))
}
