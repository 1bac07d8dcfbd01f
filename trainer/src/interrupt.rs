//! Ctrl-C and SIGTERM: the first asks for the end after the step in progress, the second ends the process at once. A
//! process that only waits for a command passes both on and ends after it.
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use anyhow::{Context, Result};

use crate::{console, exit_code};

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// The process that works for this one, 0 while there is none. Signals are passed on to its process group, as a terminal
/// would: a shell waits for its own command before it ends.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Starts listening.
pub(crate) fn listen() -> Result<()> {
    ctrlc::set_handler(|| {
        if pass_on() {
            console::print_error_line("interrupted: finishing the step and the timeline (once more ends at once)");
        } else {
            // SAFETY: ends the process and does not return. Unlike `exit` it runs no handlers, which could wait for
            // the very step that is not to be waited for.
            unsafe { libc::_exit(i32::from(exit_code::INTERRUPTED)) };
        }
    })
    .context("cannot listen for Ctrl-C")
}

/// Starts listening for a command that runs in a process of its own: this process cleans up after it, and so does not end
/// before it.
pub(crate) fn listen_for_a_command() -> Result<()> {
    ctrlc::set_handler(|| {
        if pass_on() {
            console::print_error_line("interrupted: passed on to the command (once more kills it)");
        }
    })
    .context("cannot listen for Ctrl-C")
}

/// Passes the signal on to the child, the second one as SIGKILL. Returns whether it was the first.
fn pass_on() -> bool {
    let first = !REQUESTED.swap(true, Ordering::Relaxed);
    let child = CHILD.load(Ordering::Relaxed);
    if child > 0 {
        let signal = if first { libc::SIGINT } else { libc::SIGKILL };
        // SAFETY: kill takes two numbers and touches no memory; `child` leads its group and has not been waited for yet.
        unsafe { libc::kill(-child, signal) };
    }
    first
}

/// Whether the user has asked for the end.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Sets the process whose process group signals are passed on to, which it leads; 0 for none.
pub(crate) fn set_child(pid: i32) {
    CHILD.store(pid, Ordering::Relaxed);
}
