//! The calling thread's `errno`, which an allocator may change only where the C library's manual says so.
use std::ffi::c_int;

/// Sets `errno` to `code`.
pub fn set_errno(code: c_int) {
    // SAFETY: __errno_location returns the calling thread's own errno, valid for the thread's life.
    unsafe { *libc::__errno_location() = code };
}

/// Runs `work` and leaves `errno` as it was before.
pub fn preserving_errno<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: __errno_location returns the calling thread's own errno, valid for the thread's life.
    let before = unsafe { *libc::__errno_location() };
    let result = work();
    set_errno(before);
    result
}
