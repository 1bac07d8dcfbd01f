//! How a session ends: by `finish`, by drop, or with the process.
use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, Once};

use alloc_timeline::Ending;
use serde_json::Value;

use super::{Report, SessionError};
use crate::event::ring;
use crate::ledger::{pool, publish};
use crate::recorder::output::log_path;
use crate::recorder::state;
use crate::recorder::thread::Recorder;
use crate::scope::as_tracker;
use crate::sys::streams;

/// The recording and the process that it records: a forked child has the value but not the thread.
static FIRST: Recording = Mutex::new(None);
/// Where it is held; a forked child takes a new place, since the lock of the old one may be held for ever by a thread
/// that the child does not have.
static RECORDER: AtomicPtr<Recording> = AtomicPtr::new(ptr::from_ref(&FIRST).cast_mut());
type Recording = Mutex<Option<(u32, Recorder)>>;
static AT_EXIT: Once = Once::new();

fn recorder() -> MutexGuard<'static, Option<(u32, Recorder)>> {
    // SAFETY: the pointer is to a static or to a leaked box.
    let recorder: &'static Recording = unsafe { &*RECORDER.load(Ordering::Acquire) };
    recorder.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Puts a recorder in place, if there is none.
pub fn install(start: impl FnOnce() -> Result<Recorder, SessionError>) -> Result<(), SessionError> {
    let mut recorder = recorder();
    if recorder.as_ref().is_some_and(|(process, _)| *process == std::process::id()) {
        return Err(SessionError::AlreadyRecording);
    }
    let fresh = start()?;
    if let Some((_, parents)) = recorder.replace((std::process::id(), fresh)) {
        // A forked child must not end its parent's recording, nor free what the parent's thread may have held.
        std::mem::forget(parents);
    }
    AT_EXIT.call_once(|| {
        // SAFETY: the function has the signature asked for and stays valid for the process's life.
        unsafe { libc::atexit(at_exit) };
    });
    Ok(())
}

/// Has forks pass through this module, from before `main` on.
pub fn watch_forks() {
    // The allocator registers its own handlers with its first block. They must come before these, so that the child can
    // allocate when these run.
    drop(std::hint::black_box(Box::new(0u8)));
    streams::find_lock();
    // SAFETY: the functions have the signature asked for and stay valid for the process's life.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
}

/// Adds a fact about the run.
pub fn fact(key: &str, value: Value) {
    if let Some((_, recorder)) = recorder().as_ref() {
        recorder.fact(key, value);
    }
}

/// Writes the timeline so far.
pub fn dump() -> Result<PathBuf, SessionError> {
    let dump = || {
        let recorder = recorder();
        let own = recorder.as_ref().filter(|(process, _)| *process == std::process::id());
        let (_, recorder) = own.ok_or(SessionError::Over)?;
        let (path, stored) = recorder.dump().ok_or(SessionError::Over)?;
        stored.map(|()| path.clone()).map_err(|source| SessionError::Output { path, source })
    };
    match pool::acquire() {
        Some(slot) => as_tracker(slot, dump),
        None => dump(),
    }
}

/// Ends the recording and writes its file.
pub fn finish(ending: Ending) -> Result<Report, SessionError> {
    let finish = || {
        let own = |(process, _): &mut (u32, Recorder)| *process == std::process::id();
        let (_, recorder) = recorder().take_if(own).ok_or(SessionError::Over)?;
        let output = recorder.stop(ending).ok_or(SessionError::Over)?;
        let losses = output.losses.clone();
        let (path, stored, timeline) = output.finish();
        match stored {
            Ok(()) => Ok(Report { path, peak_bytes: timeline.peak.live_bytes, losses }),
            Err(source) => Err(SessionError::Store { log: log_path(&path), path, source }),
        }
    };
    match pool::acquire() {
        Some(slot) => as_tracker(slot, finish),
        None => finish(),
    }
}

extern "C" fn at_exit() {
    // A panic must not leave a C callback. Nobody is left to be told of an error; the log stays.
    let _ = std::panic::catch_unwind(|| finish(Ending::Exit));
}

/// Before a fork, and before the allocator's own handler: nobody may be reading the ring, so that the child gets a replay
/// that is whole.
extern "C" fn before_fork() {
    streams::hold();
    state::hold();
}

extern "C" fn in_parent() {
    state::let_go();
    streams::let_go();
}

/// In a forked child: the recording and its thread are the parent's; what was counted until now is the child's as well.
extern "C" fn in_child() {
    streams::forget();
    publish::reset();
    state::let_go();
    ring::reset();
    RECORDER.store(Box::into_raw(Box::new(Mutex::new(None))), Ordering::Release);
}
