//! The size of a memory page: 4 KiB on x86-64, up to 64 KiB on other machines.

/// Bytes of a memory page.
pub fn page_bytes() -> usize {
    // SAFETY: sysconf only reads a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}
