//! The session that records in this process, and its end: by `finish`, by drop, or with the process.
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once};
use std::time::Duration;

use alloc_replay::Event;
use alloc_timeline::Ending;

use super::error::SessionError;
use super::fact::Fact;
use super::step_state;
use crate::ledger::{as_tracker, stopwatch};
use crate::recorder::{Finished, Handle, Recorder, Request, StepClock, ask, is_recorded};
use crate::sys;

/// The session of this process, if it has one.
#[derive(Default)]
struct Active {
    current: Option<Current>,
    /// The sessions that threads are ending.
    ending: Vec<EndingSession>,
}

/// A session that a thread is ending.
struct EndingSession {
    session: u64,
    process: u32,
    thread: u32,
    recorder: Handle,
}

/// Says that a thread is ending a session, until it is dropped.
struct EndingNow(u64);

impl Drop for EndingNow {
    fn drop(&mut self) {
        let place = |active: &Active| active.ending.iter().position(|ending| ending.session == self.0);
        let ended = {
            let mut active = active();
            place(&active).map(|place| active.ending.swap_remove(place))
        };
        // With the last handle a thread of the tracker's ends, for which the lock is not to be held.
        drop(ended);
    }
}

/// A session that records.
struct Current {
    /// The process that started it. A forked child inherits the value, but not the recorder's thread; this tells the two apart.
    process: u32,
    /// The session's number among those of this process and of the processes before it.
    session: u64,
    recorder: Recorder,
}

impl Current {
    fn is_own(&self) -> bool {
        self.process == std::process::id()
    }
}

static FIRST: Mutex<Active> = Mutex::new(Active { current: None, ending: Vec::new() });
/// The current session. A forked child replaces it with a new, empty one: another thread of the parent may have held
/// the old mutex at the fork, and that thread does not exist in the child to unlock it.
static ACTIVE: AtomicPtr<Mutex<Active>> = AtomicPtr::new(ptr::from_ref(&FIRST).cast_mut());
/// How many sessions were started.
static SESSIONS: AtomicU64 = AtomicU64::new(0);
static AT_EXIT: Once = Once::new();
/// So often a thread that calls `exit` asks whether another one has ended the session.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// The result of a finished session.
///
/// ```no_run
/// let session = alloc_tracker::Session::builder().output("run.timeline.json").start()?;
/// // ...
/// let report = session.finish()?;
/// println!("{}: at most {} live bytes", report.path.display(), report.peak_bytes);
/// for loss in &report.losses {
///     eprintln!("lost: {loss}");
/// }
/// # Ok::<(), alloc_tracker::SessionError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The path of the timeline that was written.
    pub path: PathBuf,
    /// The peak: the most live bytes (usable bytes) at any instant of the session that was not paused.
    pub peak_bytes: u64,
    /// What the recording lost, one sentence for each loss; for example that the log ends early because the disk was
    /// full. The timeline lists the same losses.
    pub losses: Vec<String>,
}

fn active() -> MutexGuard<'static, Active> {
    // SAFETY: the pointer leads to `FIRST` or to a box that `forked` has leaked; both live as long as the process.
    let active: &'static Mutex<Active> = unsafe { &*ACTIVE.load(Ordering::Acquire) };
    active.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The handle of this process's recorder. While somebody uses it, the session is not locked, so that steps and facts need not wait.
fn own_handle() -> Option<Handle> {
    active().current.as_ref().filter(|current| current.is_own()).map(|current| current.recorder.handle())
}

/// Starts a recorder with `start`, unless this process has one already. Returns the session's number.
pub fn install(start: impl FnOnce() -> Result<Recorder, SessionError>) -> Result<u64, SessionError> {
    let mut active = active();
    if is_recorded() && active.current.as_ref().is_some_and(Current::is_own) {
        return Err(SessionError::AlreadyRecording);
    }
    // The one before was ended by the recorder's thread, for `alloc-tracker stop` or before an exec that failed: its file is written.
    let ended = active.current.take_if(|current| current.is_own());
    drop(ended.and_then(|current| current.recorder.stop(Ending::Exit)));
    let (process, recorder) = (std::process::id(), start()?);
    let session = SESSIONS.fetch_add(1, Ordering::Relaxed) + 1;
    if let Some(parents) = active.current.replace(Current { process, session, recorder }) {
        // The value was inherited through a fork. Dropping it would end the parent's recording, and would free memory
        // that the parent's recorder thread may have been using at the fork.
        std::mem::forget(parents);
    }
    AT_EXIT.call_once(|| {
        // SAFETY: `at_exit` has the signature that atexit calls, and it stays loaded for the process's life.
        unsafe { libc::atexit(at_exit) };
    });
    Ok(session)
}

/// Adds a fact about the run; does nothing when no session is recording.
pub fn fact(key: &str, value: Fact) {
    as_tracker(|| {
        if let Some(current) = active().current.as_ref() {
            current.recorder.fact(key, value.into_json());
        }
    });
}

/// Adds a mark with the book of this instant; does nothing when no session is recording.
pub fn mark_with_book(name: &str) {
    as_tracker(|| own_handle().into_iter().for_each(|recorder| recorder.mark_with_book(name)));
}

/// Tells the session that a step begins or ends on this thread, if it was asked for times.
pub fn time_step(tell: fn(&mut StepClock)) {
    if stopwatch::is_on() {
        as_tracker(|| {
            if let Some(current) = active().current.as_ref().filter(|current| current.is_own()) {
                current.recorder.time_step(tell);
            }
        });
    }
}

/// Writes a copy of the timeline so far; returns its path.
pub fn dump() -> Result<PathBuf, SessionError> {
    as_tracker(|| {
        let (path, stored) = own_handle().and_then(|recorder| recorder.dump()).ok_or(SessionError::Ended)?;
        stored.map(|()| path.clone()).map_err(|reason| SessionError::Output { path, reason })
    })
}

/// Ends the recording and writes its file. `session`: which session's; `None` for whatever records.
pub fn finish(session: Option<u64>, ending: Ending) -> Result<Report, SessionError> {
    sys::without_cancellation(|| as_tracker(|| finish_here(session, ending)))
}

fn finish_here(session: Option<u64>, ending: Ending) -> Result<Report, SessionError> {
    let (recorder, _ending) = {
        let mut active = active();
        let is_it = |current: &Current| current.is_own() && session.is_none_or(|session| session == current.session);
        let current = active.current.take_if(|current| is_it(current)).ok_or(SessionError::Ended)?;
        let Current { process, session, recorder } = current;
        let (thread, handle) = (sys::thread_id(), recorder.handle());
        active.ending.push(EndingSession { session, process, thread, recorder: handle });
        (recorder, EndingNow(session))
    };
    end(recorder, ending)
}

fn end(recorder: Recorder, ending: Ending) -> Result<Report, SessionError> {
    if step_state::session_ends() {
        step_state::tell(&Event::StepEnded);
        recorder.time_step(StepClock::end);
    }
    let Finished { path, log, stored, peak_bytes, losses } = recorder.stop(ending).ok_or(SessionError::Ended)?;
    match stored {
        Ok(()) => Ok(Report { path, peak_bytes, losses }),
        Err(reason) => Err(SessionError::Store { path, log, reason, losses }),
    }
}

/// Waits until no other thread ends a session: the process would end before the timeline is written.
fn wait_for_others() {
    let (process, thread) = (std::process::id(), sys::thread_id());
    let others = || {
        let active = active();
        let other = active.ending.iter().find(|ending| ending.process == process && ending.thread != thread);
        other.map(|other| other.recorder.clone())
    };
    while let Some(recorder) = others() {
        // The other one may wait for a function of the program's that this thread is in.
        recorder.session_ends();
        drop(recorder);
        let _ = sys::StopFlag::default().sleep(BETWEEN_LOOKS);
    }
}

extern "C" fn at_exit() {
    if sys::in_handler() {
        // What it has interrupted may be the allocator, or the tracker: this thread allocates nothing and takes no lock.
        return ask(|| Request::Exit);
    }
    // A panic must not unwind into C. An error has no caller to go to any more; where the timeline could not be
    // written, the log is still there.
    let _ = std::panic::catch_unwind(|| {
        let _ = finish(None, Ending::Exit);
        sys::without_cancellation(|| as_tracker(wait_for_others));
    });
}

/// Runs in a forked child: the recording and its thread belong to the parent, so the child begins without a session.
pub fn forked() {
    ACTIVE.store(as_tracker(|| Box::into_raw(Box::new(Mutex::new(Active::default())))), Ordering::Release);
}
