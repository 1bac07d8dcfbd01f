//! Cache lines: where the code of a function lies, and memory that is about to be written.

/// Has the function that this is inlined into begin at a cache line. Where the functions begin that each allocation and each free
/// runs through is otherwise chance, and of that the time of a whole program depends by one to two hundredths.
#[inline(always)]
pub fn begin_at_cache_line() {
    // The assembler makes a section begin at the largest alignment that is asked for in it, and each function has a section of its own. Here
    // it would skip one byte at most.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: this is no instruction, or one that does nothing.
    unsafe {
        std::arch::asm!(".p2align 6,,1", options(nomem, nostack, preserves_flags));
    }
}

/// Has the processor fetch the cache line in which `value` begins, for a store that is to come, while the program goes on.
#[inline(always)]
pub fn prefetch_for_write<T>(value: &T) {
    let address = std::ptr::from_ref(value);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which changes nothing that a program can see. Processors that do not know it do nothing (Intel's manual, "PREFETCHW").
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(readonly, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint, which changes nothing that a program can see.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) address, options(readonly, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
