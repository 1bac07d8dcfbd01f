//! The calling thread as the kernel knows it.
#[cfg(feature = "stacks")]
use alloc_replay::ThreadName;

/// Its number.
pub fn thread_id() -> u32 {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// Its name.
#[cfg(feature = "stacks")]
pub fn thread_name() -> ThreadName {
    let mut name = ThreadName::default();
    // SAFETY: PR_GET_NAME writes at most the 16 bytes that `name` has, the last of them a zero (prctl(2)).
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}
