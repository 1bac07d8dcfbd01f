//! Reading environment variables without an allocation, as an allocator must.
use std::ffi::CStr;

/// The value of an environment variable. To be called while the process makes its first allocation, and the value is to
/// be used at once: a later `setenv` may change it.
pub fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: getenv only reads the environment, and no code changes it before the first allocation of the process.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: a non-null result is a NUL-terminated string in the environment block, which stays until the program
    // changes that variable; the caller uses it at once.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// Whether `ALLOC_TRACKER_BACKEND=system` asks for the C library's own allocator under the tracker.
pub fn wants_system_backend() -> bool {
    variable(c"ALLOC_TRACKER_BACKEND").is_some_and(|value| value == c"system")
}

/// Whether `ALLOC_TRACKER_CACHE=off` asks that jemalloc be called for every block, also for those that its cache of the
/// thread has at hand.
pub fn wants_calls() -> bool {
    variable(c"ALLOC_TRACKER_CACHE").is_some_and(|value| value == c"off")
}
