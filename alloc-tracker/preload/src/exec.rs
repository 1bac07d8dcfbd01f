//! The exec family. The process becomes another program, and its recorder's thread ends without a word: so the timeline is
//! written first. Where the program cannot be executed, the process goes on and is recorded again.
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use alloc_tracker::unaided::{ask, is_recorded};

use crate::begin;
use crate::children::with_environment;
use crate::loadable::File;
use crate::next::{EXECVE, EXECVPE, FEXECVE, Words};

unsafe extern "C" {
    /// The environment of this process, as the C library has it.
    static environ: Words;
}

/// Runs `exec` after the recording has ended, if `will_run` says that there is something to execute.
fn replacing(will_run: impl FnOnce() -> bool, exec: impl FnOnce() -> Option<c_int>) -> c_int {
    let recorded = is_recorded() && will_run();
    if recorded {
        ask(begin::at_exec);
    }
    let result = exec().unwrap_or_else(|| {
        // SAFETY: errno's place is valid for writing in every thread.
        unsafe { *libc::__errno_location() = libc::ENOSYS };
        -1
    });
    if recorded {
        // SAFETY: as above; the caller reads what exec has left there.
        let errno = unsafe { *libc::__errno_location() };
        let _ = std::panic::catch_unwind(begin::start_again);
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
    }
    result
}

/// Whether this path can be executed.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn is_executable(path: *const c_char) -> bool {
    // SAFETY: as the caller promises.
    !path.is_null() && unsafe { libc::access(path, libc::X_OK) } == 0
}

/// Whether `file` can be executed, or a file of that name in a folder of PATH.
///
/// # Safety
/// `file` is null or a C string.
unsafe fn is_executable_in_path(file: *const c_char) -> bool {
    if file.is_null() {
        return false;
    }
    // SAFETY: as the caller promises.
    let name = OsStr::from_bytes(unsafe { CStr::from_ptr(file) }.to_bytes());
    if name.as_bytes().contains(&b'/') {
        // SAFETY: as the caller promises.
        return unsafe { is_executable(file) };
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&folders).any(|folder| executable_file(&folder.join(name)))
}

fn executable_file(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// `execve(2)`.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, arguments: Words, environment: Words) -> c_int {
    let exec = || {
        let exec = EXECVE.get()?;
        // SAFETY: the path and the words are what the caller hands to exec.
        Some(unsafe {
            with_environment(environment, File::At(libc::AT_FDCWD, path), |environment| {
                exec(path, arguments, environment)
            })
        })
    };
    // SAFETY: the path is a C string, as the caller promises.
    replacing(|| unsafe { is_executable(path) }, exec)
}

/// `execv(3)`, which is `execve` with the environment of this process.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: Words) -> c_int {
    // SAFETY: as the caller promises; exec reads the environment wherever it is.
    unsafe { execve(path, arguments, environ) }
}

/// `execvpe(3)`.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, arguments: Words, environment: Words) -> c_int {
    let exec = || {
        let exec = EXECVPE.get()?;
        // SAFETY: as in `execve`.
        Some(unsafe { with_environment(environment, File::of(file), |environment| exec(file, arguments, environment)) })
    };
    // SAFETY: the file's name is a C string, as the caller promises.
    replacing(|| unsafe { is_executable_in_path(file) }, exec)
}

/// `execvp(3)`, which is `execvpe` with the environment of this process.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, arguments: Words) -> c_int {
    // SAFETY: as in `execv`.
    unsafe { execvpe(file, arguments, environ) }
}

/// `fexecve(3)`.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fexecve(file: c_int, arguments: Words, environment: Words) -> c_int {
    let exec = || {
        let exec = FEXECVE.get()?;
        // SAFETY: as in `execve`.
        Some(unsafe {
            with_environment(environment, File::Open(file), |environment| exec(file, arguments, environment))
        })
    };
    // SAFETY: fcntl takes any number.
    replacing(|| unsafe { libc::fcntl(file, libc::F_GETFD) } >= 0, exec)
}

/// `execveat(2)`. An empty path with the flag for that means the file `folder`.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execveat(
    folder: c_int,
    path: *const c_char,
    arguments: Words,
    environment: Words,
    flags: c_int,
) -> c_int {
    let will_run = || {
        // SAFETY: the path is null or a C string, as the caller promises; fcntl takes any number.
        unsafe {
            !path.is_null()
                && if *path == 0 && flags & libc::AT_EMPTY_PATH != 0 {
                    libc::fcntl(folder, libc::F_GETFD) >= 0
                } else {
                    libc::faccessat(folder, path, libc::X_OK, 0) == 0
                }
        }
    };
    let exec = || {
        // SAFETY: as in `execve`; the system call takes what the function of the C library takes.
        Some(unsafe {
            let is_open = !path.is_null() && *path == 0;
            let file = if is_open { File::Open(folder) } else { File::At(folder, path) };
            with_environment(environment, file, |environment| {
                libc::syscall(libc::SYS_execveat, folder, path, arguments, environment, flags) as c_int
            })
        })
    };
    replacing(will_run, exec)
}
