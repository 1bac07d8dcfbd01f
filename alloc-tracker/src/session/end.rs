//! How a session ends: by `finish`, by drop, or with the process.
use std::sync::{Mutex, MutexGuard, Once};

use alloc_timeline::Ending;
use serde_json::Value;

use super::{Report, SessionError};
use crate::event::ring;
use crate::ledger::{pool, publish};
use crate::recorder::output::log_path;
use crate::recorder::thread::Recorder;
use crate::scope::as_tracker;

/// The recording and the process that it records: a forked child has the value but not the thread.
static RECORDER: Mutex<Option<(u32, Recorder)>> = Mutex::new(None);
static AT_EXIT: Once = Once::new();

fn recorder() -> MutexGuard<'static, Option<(u32, Recorder)>> {
    RECORDER.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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
        // SAFETY: both functions have the signature asked for and stay valid for the process's life.
        unsafe {
            libc::atexit(at_exit);
            libc::pthread_atfork(None, None, Some(in_child));
        }
    });
    Ok(())
}

/// Adds a fact about the run.
pub fn fact(key: &str, value: Value) {
    if let Some((_, recorder)) = recorder().as_ref() {
        recorder.fact(key, value);
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

/// In a forked child: the recording and its thread are the parent's.
extern "C" fn in_child() {
    publish::reset();
    ring::reset();
}
