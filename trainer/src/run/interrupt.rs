//! Ctrl-C and SIGTERM: the first asks for the end after the step in progress, the second ends at once.
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use anyhow::{Context, Result};

static ASKED: AtomicBool = AtomicBool::new(false);
/// The process that works for this one, 0 while there is none. It is told what this one is told.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Starts listening.
pub(crate) fn watch() -> Result<()> {
    ctrlc::set_handler(|| {
        let first = !ASKED.swap(true, Ordering::Relaxed);
        let child = CHILD.load(Ordering::Relaxed);
        if child > 0 {
            let signal = if first { libc::SIGINT } else { libc::SIGKILL };
            // SAFETY: kill takes two numbers and touches no memory; `child` has not been waited for yet.
            unsafe { libc::kill(child, signal) };
        }
        if first {
            crate::say::err("interrupted: finishing the step and the timeline (once more ends at once)");
        } else {
            // SAFETY: ends the process and does not return. Unlike `exit` it runs no handlers, which could wait for
            // the very step that is not to be waited for.
            unsafe { libc::_exit(i32::from(crate::INTERRUPTED)) };
        }
    })
    .context("cannot listen for Ctrl-C")
}

/// Whether the end was asked for.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Names the process that is to be told; 0 for none.
pub(crate) fn tell(child: i32) {
    CHILD.store(child, Ordering::Relaxed);
}
