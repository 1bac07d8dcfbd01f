//! The ends of a process that run no exit handler: `_exit` and `_Exit`, by which forked workers end. (`exit`, and the end
//! of `main`, run the tracker's own handler.)
use std::ffi::c_int;

use alloc_tracker::unaided::ask;

use crate::begin;

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
