//! The handle of a session that is recording, and the guard of a step.
use std::path::PathBuf;

use alloc_replay::Event;
use alloc_timeline::Ending;

use super::active::{self, Report};
use super::error::SessionError;
use super::fact::Fact;
use super::step_state::{self, tell};
use crate::recorder::StepClock;
use crate::{ledger, scope};

/// A session that is recording. A process has one session at a time. Dropping the handle finishes the session; so does
/// a panic that unwinds through it, and so does the end of the process through `exit`. A handle whose session has ended finishes no other.
///
/// What tells the recorder something (steps, marks, guards of scopes) may call the allocator on the thread that calls it. So a signal handler
/// that allocates may wait for ever if it interrupts one of these, as it may if it interrupts `malloc`.
///
/// ```no_run
/// # fn main() -> Result<(), alloc_tracker::SessionError> {
/// let session = alloc_tracker::Session::builder().output("run.timeline.json").start()?;
/// for _ in 0..10 {
///     let _step = session.step();
///     // ...
/// }
/// session.finish()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "dropping a session finishes it: bind it for as long as it should record"]
pub struct Session {
    /// The session's number; `None` for a handle that finishes nothing when it is dropped.
    session: Option<u64>,
}

impl Session {
    /// The handle of the session that was just installed.
    pub(super) fn new(session: u64) -> Self {
        Session { session: Some(session) }
    }

    /// A handle of whatever session records, for code that has not started it: dropping this one finishes nothing. Without a
    /// session, nothing that is told to it has an effect.
    #[doc(hidden)]
    pub fn of_this_process() -> Self {
        Session { session: None }
    }

    /// Adds a mark: a named instant, with the live bytes at it. A process has room for 65,535 different names of marks; those beyond are
    /// called `other marks`.
    ///
    /// ```no_run
    /// # let session = alloc_tracker::Session::builder().start()?;
    /// session.mark("weights loaded");
    /// session.snapshot("before the first step");
    /// # Ok::<(), alloc_tracker::SessionError>(())
    /// ```
    pub fn mark(&self, name: &str) {
        mark(name, false);
    }

    /// Adds a mark with a snapshot: the table of who owns which bytes at that instant. Of each name, only the latest
    /// snapshots are kept.
    pub fn snapshot(&self, name: &str) {
        mark(name, true);
    }

    /// Adds a mark with a book: the account of the resident set at that instant, line by line, in the timeline's
    /// `mark_books`. The call returns when all mappings have been walked, which takes some tens of milliseconds for a
    /// gigabyte. The other threads run on; what they allocate or touch meanwhile can make the lines differ from the
    /// resident set. Of each name, only the latest books are kept. A dump has such a book as well, of its own instant.
    ///
    /// ```no_run
    /// # let session = alloc_tracker::Session::builder().start()?;
    /// session.mark_with_book("weights loaded");
    /// # Ok::<(), alloc_tracker::SessionError>(())
    /// ```
    pub fn mark_with_book(&self, name: &str) {
        active::mark_with_book(name);
    }

    /// Begins a step, which ends when the guard is dropped. The timeline has the peak of each step. Steps are numbered
    /// from 1.
    pub fn step(&self) -> StepGuard<'_> {
        StepGuard(self, begin_step())
    }

    /// Begins a step, and ends the one before if it is open. Where a step is a block of Rust code, [`step`](Self::step)
    /// is simpler.
    pub fn begin_step(&self) {
        begin_step();
    }

    /// Ends the open step; does nothing when no step is open.
    pub fn end_step(&self) {
        tell(&Event::StepEnded);
        active::time_step(StepClock::end);
    }

    /// Pauses the recording until [`resume`](Self::resume), for a part of the run that is of no interest. Meanwhile the
    /// recorder takes no samples, and the live bytes of that time do not count as a peak. Allocations and frees are
    /// still counted, so that all numbers after the pause are right. The timeline gets a mark `paused`.
    ///
    /// ```no_run
    /// # let session = alloc_tracker::Session::builder().start()?;
    /// session.pause();
    /// // load the data set
    /// session.resume();
    /// # Ok::<(), alloc_tracker::SessionError>(())
    /// ```
    pub fn pause(&self) {
        tell(&Event::Paused);
    }

    /// Ends a [`pause`](Self::pause). The timeline gets a mark `resumed`.
    pub fn resume(&self) {
        tell(&Event::Resumed);
    }

    /// Writes a dump, which is a copy of the timeline so far, and returns its path. The dump lies beside the timeline
    /// and is called `NAME.dump-1.timeline.json`, then `-2` and so on.
    ///
    /// # Errors
    /// - [`SessionError::Output`] when the dump cannot be written;
    /// - [`SessionError::Ended`] when the session has ended.
    ///
    /// ```no_run
    /// # let session = alloc_tracker::Session::builder().start()?;
    /// let path = session.dump()?;
    /// println!("so far: {}", path.display());
    /// # Ok::<(), alloc_tracker::SessionError>(())
    /// ```
    pub fn dump(&self) -> Result<PathBuf, SessionError> {
        active::dump()
    }

    /// Adds a fact to `run` in the timeline; a later fact with the same key replaces it.
    pub fn fact(&self, key: &str, value: impl Into<Fact>) {
        active::fact(key, value.into());
    }

    /// Stops recording and writes the timeline.
    ///
    /// # Errors
    /// - [`SessionError::Store`] when the timeline cannot be written; it names the log, which holds the recording;
    /// - [`SessionError::Ended`] when the session has ended already.
    pub fn finish(self) -> Result<Report, SessionError> {
        self.finish_as(Ending::Finished)
    }

    /// Finishes the session like [`finish`](Self::finish), for a run that the user interrupted; the timeline says so.
    ///
    /// # Errors
    /// As for [`Session::finish`].
    pub fn finish_interrupted(self) -> Result<Report, SessionError> {
        self.finish_as(Ending::Interrupted)
    }

    fn finish_as(mut self, ending: Ending) -> Result<Report, SessionError> {
        active::finish(self.session.take(), ending)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let ending = if std::thread::panicking() { Ending::Panic } else { Ending::Finished };
            // `drop` has no caller to hand an error to. Where the timeline could not be written, the log is still
            // there.
            let _ = active::finish(Some(session), ending);
        }
    }
}

/// An open step, made by [`Session::step`]. Dropping the guard ends the step, unless another one has begun since: `step = session.step();` in a
/// loop drops the guard of the step before when the next has begun.
///
/// ```no_run
/// # let session = alloc_tracker::Session::builder().start()?;
/// for _ in 0..10 {
///     let _step = session.step();
///     // forward, backward, optimizer
/// }
/// # Ok::<(), alloc_tracker::SessionError>(())
/// ```
#[derive(Debug)]
#[must_use = "the step ends when the guard is dropped: bind it, `let _step = session.step();`"]
pub struct StepGuard<'a>(&'a Session, u64);

impl Drop for StepGuard<'_> {
    fn drop(&mut self) {
        if step_state::is_latest(self.1) {
            self.0.end_step();
        }
    }
}

/// Begins a step, and ends the one before if it is open. Returns its number, which no other step of the process has.
fn begin_step() -> u64 {
    let number = step_state::program_begins();
    active::time_step(StepClock::begin);
    tell(&Event::StepBegan);
    number
}

fn mark(name: &str, with_owners: bool) {
    let name = ledger::as_tracker(|| scope::mark_name(name));
    tell(&Event::Mark { name, with_owners });
}
