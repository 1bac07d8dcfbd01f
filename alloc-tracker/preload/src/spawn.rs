//! `posix_spawn` and `posix_spawnp`, which start a program past the exec family: where the children of a thread are not recorded, the new
//! program's environment says so.
use std::ffi::{c_char, c_int, c_void};

use crate::children::with_environment;
use crate::next::{Next, POSIX_SPAWN, POSIX_SPAWNP, Spawn, Words};

/// `posix_spawn(3)`.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn(
    process: *mut libc::pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Words,
    environment: Words,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { spawn(&POSIX_SPAWN, process, path, actions, attributes, arguments, environment) }
}

/// `posix_spawnp(3)`.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawnp(
    process: *mut libc::pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Words,
    environment: Words,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { spawn(&POSIX_SPAWNP, process, file, actions, attributes, arguments, environment) }
}

/// # Safety
/// `next` is one of the two, and the rest what its caller has passed.
unsafe fn spawn(
    next: &Next<Spawn>,
    process: *mut libc::pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Words,
    environment: Words,
) -> c_int {
    let Some(spawn) = next.get() else { return libc::ENOSYS };
    // SAFETY: as the caller promises.
    unsafe {
        with_environment(environment, |environment| spawn(process, file, actions, attributes, arguments, environment))
    }
}
