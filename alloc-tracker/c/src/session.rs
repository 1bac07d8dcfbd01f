//! Steps, marks, facts and dumps; a session's start and end.
use std::ffi::{c_char, c_int};
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

use alloc_tracker::unaided::is_recorded;
use alloc_tracker::{Session, SessionError};

use crate::text;

/// The process in which the program has started the session that records; 0 when it has started none.
static STARTED_BY: AtomicU32 = AtomicU32::new(0);

/// What `start`, `finish` and `dump` return.
const DONE: c_int = 0;
/// `start`: a session records already. `finish`: there is none that the program has started. `dump`: there is none.
const NOTHING_DONE: c_int = 1;
/// A file could not be written. A line on stderr says why.
const FAILED: c_int = 2;

fn failed(error: &SessionError) -> c_int {
    // Where standard error is closed, the result still tells.
    let _ = writeln!(std::io::stderr(), "alloc-tracker: {error}");
    FAILED
}

/// # Safety
/// `output` is null or a C string.
pub unsafe extern "C" fn start(output: *const c_char) -> c_int {
    // SAFETY: as the caller promises.
    let output = unsafe { text::read(output) };
    let builder = Session::builder();
    let builder = if output.is_empty() { builder } else { builder.output(&*output) };
    match builder.start() {
        Ok(session) => {
            // It ends with `finish`, or with the process.
            std::mem::forget(session);
            STARTED_BY.store(std::process::id(), Ordering::Release);
            DONE
        }
        Err(SessionError::AlreadyRecording) => NOTHING_DONE,
        Err(error) => failed(&error),
    }
}

pub extern "C" fn finish() -> c_int {
    let own = std::process::id();
    if STARTED_BY.compare_exchange(own, 0, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return NOTHING_DONE;
    }
    match Session::of_this_process().finish() {
        Ok(_) => DONE,
        Err(SessionError::Ended) => NOTHING_DONE,
        Err(error) => failed(&error),
    }
}

pub extern "C" fn is_recording() -> bool {
    is_recorded()
}

pub extern "C" fn begin_step() {
    Session::of_this_process().begin_step();
}

pub extern "C" fn end_step() {
    Session::of_this_process().end_step();
}

/// # Safety
/// `name` is null or a C string.
pub unsafe extern "C" fn mark(name: *const c_char) {
    // SAFETY: as the caller promises.
    Session::of_this_process().mark(&unsafe { text::read(name) });
}

/// # Safety
/// `name` is null or a C string.
pub unsafe extern "C" fn snapshot(name: *const c_char) {
    // SAFETY: as the caller promises.
    Session::of_this_process().snapshot(&unsafe { text::read(name) });
}

/// # Safety
/// `key` and `value` are null or C strings.
pub unsafe extern "C" fn fact(key: *const c_char, value: *const c_char) {
    // SAFETY: as the caller promises.
    let (key, value) = unsafe { (text::read(key), text::read(value)) };
    Session::of_this_process().fact(&key, value.into_owned());
}

pub extern "C" fn dump() -> c_int {
    match Session::of_this_process().dump() {
        Ok(_) => DONE,
        Err(SessionError::Ended) => NOTHING_DONE,
        Err(error) => failed(&error),
    }
}
