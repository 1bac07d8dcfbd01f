//! The ends of a process that run no exit handler: `_exit` and `_Exit`, by which forked workers end, and `quick_exit`. (`exit`, and the end
//! of `main`, run the tracker's own handler.)
use std::ffi::c_int;

use alloc_tracker::unaided::ask;

use crate::begin;

/// To be called before `main`: `quick_exit(3)` then ends the recording, after the functions that the program has registered for it.
#[cfg(target_os = "linux")]
pub fn await_quick_exit() {
    unsafe extern "C" {
        /// `at_quick_exit(3)`, which the package `libc` does not declare.
        fn at_quick_exit(function: extern "C" fn()) -> c_int;
    }
    extern "C" fn end() {
        ask(begin::at_exit);
    }
    // SAFETY: this is the type that stdlib.h gives the function, and `end` lives as long as the process.
    unsafe { at_quick_exit(end) };
}

/// Does nothing.
#[cfg(not(target_os = "linux"))]
pub fn await_quick_exit() {}

/// `_exit(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn _exit(code: c_int) -> ! {
    ask(begin::at_exit);
    leave(code)
}

/// `_Exit(3)`, which is the same.
#[unsafe(no_mangle)]
pub extern "C" fn _Exit(code: c_int) -> ! {
    ask(begin::at_exit);
    leave(code)
}

fn leave(code: c_int) -> ! {
    loop {
        // SAFETY: the system call takes a number and does not return.
        unsafe { libc::syscall(libc::SYS_exit_group, code) };
    }
}
