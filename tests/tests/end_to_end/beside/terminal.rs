//! A terminal that a program runs in, because the kernel's Ctrl-C is not a signal that a process sends.
use std::ffi::{CStr, c_int};
use std::fs::File;
use std::io::{Error, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A terminal of which a test is the keyboard.
pub struct Terminal {
    keyboard: OwnedFd,
    screen: OwnedFd,
}

impl Terminal {
    /// A new one.
    pub fn open() -> Terminal {
        let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
        let owned = |descriptor: c_int| {
            assert!(descriptor >= 0, "a terminal: {}", Error::last_os_error());
            // SAFETY: the call before has opened it, and nobody else has it.
            unsafe { OwnedFd::from_raw_fd(descriptor) }
        };
        // SAFETY: it takes a number.
        let keyboard = owned(unsafe { libc::posix_openpt(flags) });
        let mut name = [0_u8; 64];
        // SAFETY: the descriptor is that of a terminal; the name is written into an array of the length that is given, and ends with a zero.
        let named = unsafe {
            libc::grantpt(keyboard.as_raw_fd()) == 0
                && libc::unlockpt(keyboard.as_raw_fd()) == 0
                && libc::ptsname_r(keyboard.as_raw_fd(), name.as_mut_ptr().cast(), name.len()) == 0
        };
        assert!(named, "a terminal: {}", Error::last_os_error());
        let name = CStr::from_bytes_until_nul(&name).expect("a name");
        // SAFETY: a C string and a number.
        let screen = owned(unsafe { libc::open(name.as_ptr(), flags) });
        Terminal { keyboard, screen }
    }

    /// Has the command run in this terminal, in its foreground, as a shell has it.
    pub fn give_to(&self, command: &mut Command) {
        let screen = self.screen.as_raw_fd();
        let begin = move || {
            // SAFETY: the calls take numbers, and may be made between fork and exec.
            let is_there = unsafe { libc::setsid() >= 0 && libc::ioctl(screen, libc::TIOCSCTTY, 0) == 0 };
            if is_there { Ok(()) } else { Err(Error::last_os_error()) }
        };
        // SAFETY: the function makes system calls and nothing else.
        unsafe { command.pre_exec(begin) };
    }

    /// The kernel sends SIGINT to all that runs in its foreground.
    pub fn press_ctrl_c(&self) {
        let keyboard = self.keyboard.try_clone().expect("a descriptor");
        File::from(keyboard).write_all(b"\x03").expect("a key");
    }
}
