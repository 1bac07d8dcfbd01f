//! `dlclose`: other code may be loaded where a library was, and samples must not take it for the library's.
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use alloc_tracker::unaided::code_was_unloaded;

use crate::next::DLCLOSE;

/// How many libraries had been unloaded when it was last looked at.
static UNLOADED: AtomicU64 = AtomicU64::new(0);

/// `dlclose(3)`.
///
/// # Safety
/// As for the C library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlclose(library: *mut c_void) -> c_int {
    // A process that can call it has it.
    let Some(close) = DLCLOSE.get() else { return -1 };
    // SAFETY: as the caller promises.
    let result = unsafe { close(library) };
    let mut unloaded = 0;
    // SAFETY: the function is of the type that is asked for, and the number is there until it has returned.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut unloaded).cast()) };
    // Another thread that finds the same number may go on at once.
    if UNLOADED.load(Ordering::Acquire) != unloaded {
        code_was_unloaded();
        UNLOADED.store(unloaded, Ordering::Release);
    }
    result
}

/// Writes how many libraries have been unloaded, which the first of the list says as well as any, and ends the list.
///
/// # Safety
/// To be called by `dl_iterate_phdr`, with a `u64` to write to.
unsafe extern "C" fn first(library: *mut libc::dl_phdr_info, size: usize, unloaded: *mut c_void) -> c_int {
    if size >= std::mem::offset_of!(libc::dl_phdr_info, dlpi_subs) + size_of::<u64>() {
        // SAFETY: the C library passes a value with so many bytes, and the number behind the pointer is `dlclose`'s, which waits.
        unsafe { *unloaded.cast::<u64>() = (*library).dlpi_subs };
    }
    1
}
