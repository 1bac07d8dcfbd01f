//! `kill` and `raise`, by which a program ends itself after Ctrl-C: whoever started it is to see that SIGINT has ended it. Python does so when
//! nobody caught its KeyboardInterrupt, and so do shells.
use std::ffi::c_int;

use alloc_tracker::unaided::ask;

use crate::begin;

/// `kill(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn kill(process: libc::pid_t, signal: c_int) -> c_int {
    // SAFETY: getpid cannot fail.
    if signal == libc::SIGINT && process == unsafe { libc::getpid() } {
        before_interrupt();
    }
    // SAFETY: the system call takes numbers.
    unsafe { libc::syscall(libc::SYS_kill, process, signal) as c_int }
}

/// `raise(3)`, which sends the signal to the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn raise(signal: c_int) -> c_int {
    if signal == libc::SIGINT {
        before_interrupt();
    }
    // SAFETY: the system calls take numbers, and the first two cannot fail.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), signal) as c_int }
}

/// This process is about to send itself SIGINT: ends the recording if that signal ends the process.
fn before_interrupt() {
    if ends_the_process(libc::SIGINT) {
        ask(begin::at_interrupt);
    }
}

/// Whether nothing in this process catches the signal, ignores it or holds it back.
fn ends_the_process(signal: c_int) -> bool {
    // SAFETY: both are plain data for which zeroes are a value, and valid for the calls, which change nothing and may be made in a signal handler.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_DFL
            && libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut blocked) == 0
            && libc::sigismember(&raw const blocked, signal) == 0
    }
}
