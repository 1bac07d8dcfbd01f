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
    let first = !REQUESTED.swap(true, Ordering::SeqCst);
    signal(CHILD.load(Ordering::SeqCst), if first { libc::SIGINT } else { libc::SIGKILL });
    first
}

/// Sends `signal` to the process group that `child` leads, if there is one.
fn signal(child: i32, signal: libc::c_int) {
    if child > 0 {
        // SAFETY: kill takes two numbers and touches no memory; `child` leads its group and has not been waited for yet.
        unsafe { libc::kill(-child, signal) };
    }
}

/// Whether the user has asked for the end.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// Sets the process whose process group signals are passed on to, which it leads; 0 for none. A signal that came while the
/// child was being started, when nobody knew its number yet, is passed on now. The order is that of one clock (`SeqCst`): either
/// the signal's handler sees the child here, or this sees the signal.
pub(crate) fn set_child(pid: i32) {
    CHILD.store(pid, Ordering::SeqCst);
    if requested() {
        signal(pid, libc::SIGINT);
    }
}
