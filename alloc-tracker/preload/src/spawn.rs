//! `posix_spawn` and `posix_spawnp`, which start a program past the exec family: where the children of a thread are not recorded, or the program cannot load this
//! library, its environment says so.
use std::ffi::{c_char, c_int, c_void};

use crate::children::with_environment;
use crate::loadable::File;
use crate::next::{POSIX_SPAWN, POSIX_SPAWNP, Words};

/// Defines a function that goes on to the C library's own with the environment that the new program is to have.
macro_rules! spawns {
    ($(#[$doc:meta])* $name:ident, $next:ident, $file:expr) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the function of the C library.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            process: *mut libc::pid_t,
            file: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            arguments: Words,
            environment: Words,
        ) -> c_int {
            let Some(spawn) = $next.get() else { return libc::ENOSYS };
            // SAFETY: the environment and all else are what the caller hands to the C library's function.
            unsafe { with_environment(environment, $file(file), |words| spawn(process, file, actions, attributes, arguments, words)) }
        }
    };
}

spawns!(
    /// `posix_spawn(3)`.
    posix_spawn,
    POSIX_SPAWN,
    |path| File::At(libc::AT_FDCWD, path)
);
spawns!(
    /// `posix_spawnp(3)`.
    posix_spawnp,
    POSIX_SPAWNP,
    File::of
);
