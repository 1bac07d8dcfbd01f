//! Sessions: what programs start and finish. One at a time in a process.
mod builder;
mod end;
pub(crate) mod size;

pub(crate) use end::watch_forks;

pub use builder::SessionBuilder;

use std::path::PathBuf;

use alloc_timeline::Ending;

use crate::event::{Event, Kind};
use crate::ledger::{pool, publish};
use crate::scope::hooks;

/// Why a session could not start, or its file not be written.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is one already.
    #[error("a session is recording already; finish it before starting another")]
    AlreadyRecording,
    /// The folder of the timeline cannot be written to.
    #[error("{path}: the timeline cannot be written there: {source}; choose another path with SessionBuilder::output")]
    Output {
        /// The timeline to be.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// No thread for the recorder.
    #[error("the recorder's thread cannot be started: {0}")]
    Thread(std::io::Error),
    /// `Over` has an allocator of its own, and the C door another: what is usable of a block cannot be told any more.
    #[error(
        "Rust's allocations go to {allocator} and C's to the tracker's own allocator: leave out `use alloc_interpose as _`, or use `Tracker` instead of `Over`"
    )]
    TwoBackends {
        /// The allocator under `Over`.
        allocator: &'static str,
    },
    /// The run is over and its timeline could not be written.
    #[error(
        "{path}: the timeline could not be written: {source}; the log {log} holds what was recorded: `viewer recover {log}`"
    )]
    Store {
        /// The timeline that is not there.
        path: PathBuf,
        /// The log beside it.
        log: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The session was finished by somebody else, at the process's exit say.
    #[error("the session is over already")]
    Over,
}

/// What came of a session.
#[derive(Clone, Debug)]
pub struct Report {
    /// The timeline.
    pub path: PathBuf,
    /// The most live bytes.
    pub peak_bytes: u64,
    /// What was lost in recording, in words: the log of a full disk, say.
    pub losses: Vec<String>,
}

/// A recording that is under way. Dropping it finishes it; so does a panic that unwinds through it, and the end of the
/// process through `exit`.
#[derive(Debug)]
#[must_use = "dropping a session finishes it: bind it for as long as it should record"]
pub struct Session {
    open: bool,
}

impl Session {
    /// Says how to record.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }

    /// A named instant.
    pub fn mark(&self, name: &str) {
        emit(Kind::Mark, hooks::name(name).0.into(), 0);
    }

    /// A named instant with the table of who owns what then. The latest tables of each name are kept.
    pub fn snapshot(&self, name: &str) {
        emit(Kind::Mark, hooks::name(name).0.into(), 1);
    }

    /// A step begins here; the one before, if open, ends. Each step has a peak of its own. Steps are counted from 1.
    pub fn begin_step(&self) {
        emit(Kind::Step, 1, 0);
    }

    /// The open step ends here.
    pub fn end_step(&self) {
        emit(Kind::Step, 0, 0);
    }

    /// From here on nothing counts as a peak and no samples are taken, until [`resume`](Self::resume): a phase that nobody
    /// asks about, say. Blocks go on being followed, so that everything is right afterwards; what becomes of them is
    /// counted all the same. The timeline has a mark `paused`.
    pub fn pause(&self) {
        emit(Kind::Paused, 1, 0);
    }

    /// Ends a [`pause`](Self::pause). The timeline has a mark `resumed`.
    pub fn resume(&self) {
        emit(Kind::Paused, 0, 0);
    }

    /// Writes a copy of the timeline so far beside the one to come, as `NAME.dump-1.timeline.json`, and gives its path.
    ///
    /// # Errors
    /// When the file cannot be written, or the session is over.
    pub fn dump(&self) -> Result<PathBuf, SessionError> {
        end::dump()
    }

    /// One more fact for `run` in the file.
    pub fn fact(&self, key: &str, value: impl Into<serde_json::Value>) {
        end::fact(key, value.into());
    }

    /// Stops recording and writes the timeline.
    ///
    /// # Errors
    /// When the file cannot be written; the error names the log that holds what was recorded.
    pub fn finish(self) -> Result<Report, SessionError> {
        self.finish_as(Ending::Finished)
    }

    /// The same, for a run that the user interrupted: the file says so.
    ///
    /// # Errors
    /// As for [`Session::finish`].
    pub fn finish_interrupted(self) -> Result<Report, SessionError> {
        self.finish_as(Ending::Interrupted)
    }

    fn finish_as(mut self, ending: Ending) -> Result<Report, SessionError> {
        self.open = false;
        end::finish(ending)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.open {
            let ending = if std::thread::panicking() { Ending::Panic } else { Ending::Finished };
            // There is nobody to tell; the log stays where the timeline could not be written.
            let _ = end::finish(ending);
        }
    }
}

fn emit(kind: Kind, a: u64, b: u64) {
    let slot = pool::acquire();
    if let Some(slot) = slot {
        // What this thread has counted so far comes before the instant.
        slot.publish();
    }
    let _ = publish::emit(slot, Event { kind, a, b, ..Event::default() });
}
