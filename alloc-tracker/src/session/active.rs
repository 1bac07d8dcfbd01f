//! The session that records in this process, and its end: by `finish`, by drop, or with the process.
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, Once};

use alloc_replay::Event;
use alloc_timeline::Ending;

use super::error::SessionError;
use super::fact::Fact;
use super::step_state;
use crate::ledger::{as_tracker, stopwatch};
use crate::recorder::{Finished, Handle, Recorder, Request, StepClock, ask, is_recorded};
use crate::sys;

/// The recorder, and the id of the process that started it. A forked child inherits the value, but not the recorder's
/// thread; the id tells the two apart.
type Active = Mutex<Option<(u32, Recorder)>>;
static FIRST: Active = Mutex::new(None);
/// The current session. A forked child replaces it with a new, empty one: another thread of the parent may have held
/// the old mutex at the fork, and that thread does not exist in the child to unlock it.
static ACTIVE: AtomicPtr<Active> = AtomicPtr::new(ptr::from_ref(&FIRST).cast_mut());
static AT_EXIT: Once = Once::new();

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

fn active() -> MutexGuard<'static, Option<(u32, Recorder)>> {
    // SAFETY: the pointer leads to `FIRST` or to a box that `forked` has leaked; both live as long as the process.
    let active: &'static Active = unsafe { &*ACTIVE.load(Ordering::Acquire) };
    active.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn is_own(process: u32) -> bool {
    process == std::process::id()
}

/// The handle of this process's recorder. While somebody uses it, the session is not locked, so that steps and facts need not wait.
fn own_handle() -> Option<Handle> {
    active().as_ref().filter(|(process, _)| is_own(*process)).map(|(_, recorder)| recorder.handle())
}

/// Starts a recorder with `start`, unless this process has one already.
pub fn install(start: impl FnOnce() -> Result<Recorder, SessionError>) -> Result<(), SessionError> {
    let mut active = active();
    if is_recorded() && active.as_ref().is_some_and(|(process, _)| is_own(*process)) {
        return Err(SessionError::AlreadyRecording);
    }
    // The one before was ended from outside, by `alloc-tracker stop`: its thread has written its file.
    let ended = active.take_if(|(process, _)| is_own(*process));
    drop(ended.and_then(|(_, recorder)| recorder.stop(Ending::Exit)));
    let fresh = start()?;
    if let Some((_, parents)) = active.replace((std::process::id(), fresh)) {
        // The value was inherited through a fork. Dropping it would end the parent's recording, and would free memory
        // that the parent's recorder thread may have been using at the fork.
        std::mem::forget(parents);
    }
    AT_EXIT.call_once(|| {
        // SAFETY: `at_exit` has the signature that atexit calls, and it stays loaded for the process's life.
        unsafe { libc::atexit(at_exit) };
    });
    Ok(())
}

/// Adds a fact about the run; does nothing when no session is recording.
pub fn fact(key: &str, value: Fact) {
    as_tracker(|| {
        if let Some((_, recorder)) = active().as_ref() {
            recorder.fact(key, value.into_json());
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
            if let Some((_, recorder)) = active().as_ref().filter(|(process, _)| is_own(*process)) {
                recorder.time_step(tell);
            }
        });
    }
}

/// Writes a copy of the timeline so far; returns its path.
pub fn dump() -> Result<PathBuf, SessionError> {
    as_tracker(|| {
        let (path, stored) = own_handle().and_then(|recorder| recorder.dump()).ok_or(SessionError::Ended)?;
        stored.map(|()| path.clone()).map_err(|source| SessionError::Output { path, source })
    })
}

/// Ends the recording and writes its file.
pub fn finish(ending: Ending) -> Result<Report, SessionError> {
    sys::without_cancellation(|| as_tracker(|| finish_here(ending)))
}

fn finish_here(ending: Ending) -> Result<Report, SessionError> {
    let (_, recorder) = active().take_if(|(process, _)| is_own(*process)).ok_or(SessionError::Ended)?;
    if step_state::session_ends() {
        step_state::tell(&Event::StepEnded);
        recorder.time_step(StepClock::end);
    }
    let Finished { path, log, stored, peak_bytes, losses } = recorder.stop(ending).ok_or(SessionError::Ended)?;
    match stored {
        Ok(()) => Ok(Report { path, peak_bytes, losses }),
        Err(source) => Err(SessionError::Store { path, log, source }),
    }
}

/// Makes room for another session after one that the recorder's thread has ended by itself.
pub fn forget_ended() {
    let ended = as_tracker(|| active().take_if(|(process, _)| is_own(*process)));
    // Its thread has nothing more to do, and is joined here.
    let join = || ended.and_then(|(_, recorder)| recorder.stop(Ending::Exit)).map(drop);
    sys::without_cancellation(|| as_tracker(join));
}

extern "C" fn at_exit() {
    if sys::in_handler() {
        // What it has interrupted may be the allocator, or the tracker: this thread allocates nothing and takes no lock.
        return ask(|| Request::Exit);
    }
    // A panic must not unwind into C. An error has no caller to go to any more; where the timeline could not be
    // written, the log is still there.
    let _ = std::panic::catch_unwind(|| finish(Ending::Exit));
}

/// Runs in a forked child: the recording and its thread belong to the parent, so the child begins without a session.
pub fn forked() {
    ACTIVE.store(as_tracker(|| Box::into_raw(Box::new(Mutex::new(None)))), Ordering::Release);
}
