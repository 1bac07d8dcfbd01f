//! Words that one thread and its signal handlers write, and that other threads only read.
//!
//! On x86-64, each change is one instruction without a lock. A handler that interrupts the thread finds it done or not begun, and
//! to the other threads, the aligned access looks like a relaxed load and a relaxed store. (An instruction with a lock would wait until all
//! stores before it have left the processor's store buffer, and of those many are to tags that are in no cache.) On other machines
//! they are relaxed atomic operations.
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

/// Sets `$word` to `$new` if it is `$old`, and evaluates to what it was.
macro_rules! compare_exchange {
    ($word:expr, $old:expr, $new:expr, $width:literal, $register:tt, $operand:literal) => {{
        let found;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the reference makes the word valid memory, and the callers' thread alone writes it.
        unsafe {
            std::arch::asm!(
                concat!("cmpxchg ", $width, " ptr [{word}], {new", $operand, "}"),
                word = in(reg) $word.as_ptr(),
                new = in(reg) $new,
                inout($register) $old => found,
                options(nostack),
            );
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            found = $word.compare_exchange($old, $new, Ordering::Relaxed, Ordering::Relaxed).unwrap_or_else(|found| found);
        }
        found
    }};
}

/// `word += amount`, wrapping.
#[inline(always)]
pub fn add(word: &AtomicU64, amount: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the reference makes the word valid memory, and the callers' thread alone writes it.
    unsafe {
        std::arch::asm!("add qword ptr [{}], {}", in(reg) word.as_ptr(), in(reg) amount, options(nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    word.fetch_add(amount, Ordering::Relaxed);
}

/// Sets the word to 0, and returns what it was.
#[inline(always)]
pub fn take(word: &AtomicU64) -> u64 {
    let mut held = word.load(Ordering::Relaxed);
    loop {
        let found: u64 = compare_exchange!(word, held, 0u64, "qword", "rax", "");
        if found == held {
            return held;
        }
        // A handler has added to it.
        held = found;
    }
}

/// Sets the word to `new`, and returns what it was.
#[inline(always)]
pub fn exchange(word: &AtomicU16, new: u16) -> u16 {
    let mut held = word.load(Ordering::Relaxed);
    while let Err(found) = replace(word, held, new) {
        held = found;
    }
    held
}

/// Sets the word to `new` if it is `old`.
///
/// # Errors
/// What it is, if that is another number.
#[inline(always)]
pub fn replace(word: &AtomicU16, old: u16, new: u16) -> Result<(), u16> {
    let found: u16 = compare_exchange!(word, old, new, "word", "ax", ":x");
    if found == old { Ok(()) } else { Err(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_says_what_was_there() {
        let word = AtomicU64::new(u64::MAX);
        add(&word, 8);
        assert_eq!((take(&word), take(&word)), (7, 0));
        let word = AtomicU16::new(7);
        assert_eq!(exchange(&word, 0xffff), 7);
        assert_eq!((replace(&word, 7, 9), replace(&word, 0xffff, 9)), (Err(0xffff), Ok(())));
        assert_eq!(word.load(Ordering::Relaxed), 9);
    }
}
