//! `execl`, `execlp` and `execle`, which take the new program's arguments one by one. Rust cannot define a function of any
//! number of arguments. So a few instructions say where they lie, and the rest is that of `execv` and its kin.
//!
//! On x86-64 only. On other processors these three are the C library's, which go past `execve`: a program that replaces
//! itself by one of them leaves its log there, and `viewer recover` makes a timeline of that.
use std::arch::naked_asm;
use std::ffi::{c_char, c_int};
use std::ptr;

use crate::exec::{Words, execv, execve, execvp};

type Word = *const c_char;

/// No call in a program's text has more arguments. They are gathered on the stack, because a child that shares its parent's
/// memory (vfork) must not allocate.
const MOST: usize = 1024;
/// Of six registers for arguments the first has the path.
const IN_REGISTERS: usize = 5;

/// Defines a function that hands its first argument, and where the others lie, to another.
macro_rules! of_any_arguments {
    ($(#[$doc:meta])* $name:ident, $hand_to:ident) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the function of the C library.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            naked_asm!(
                // The five words are contiguous then, the first at the lowest address, and the stack is aligned for a call.
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "mov rsi, rsp",
                // The others: behind those and the return address.
                "lea rdx, [rsp + 48]",
                "call {hand_to}",
                "add rsp, 40",
                "ret",
                hand_to = sym $hand_to,
            )
        }
    };
}

of_any_arguments!(
    /// `execl(3)`.
    execl,
    execl_with
);
of_any_arguments!(
    /// `execlp(3)`.
    execlp,
    execlp_with
);
of_any_arguments!(
    /// `execle(3)`.
    execle,
    execle_with
);

/// Words of which the first lie in one place, and the others in another.
#[derive(Clone, Copy)]
struct Split {
    first: Words,
    others: Words,
}

impl Split {
    /// Calls `with` with the words up to the null at their end, and with the word behind that.
    ///
    /// # Safety
    /// The caller of exec has passed so many words that one of them is null. `with` reads the word behind it only if
    /// there is one.
    unsafe fn with(self, with: impl FnOnce(Words, Words) -> c_int) -> c_int {
        let at = |index: usize| match index.checked_sub(IN_REGISTERS) {
            None => self.first.wrapping_add(index),
            Some(index) => self.others.wrapping_add(index),
        };
        let mut words: [Word; MOST] = [ptr::null(); MOST];
        for (index, word) in words.iter_mut().enumerate() {
            // SAFETY: the words up to the null are there.
            *word = unsafe { *at(index) };
            if word.is_null() {
                return with(words.as_ptr(), at(index + 1));
            }
        }
        // SAFETY: errno's place is valid for writing in every thread.
        unsafe { *libc::__errno_location() = libc::E2BIG };
        -1
    }
}

unsafe extern "C" fn execl_with(path: Word, first: Words, others: Words) -> c_int {
    // SAFETY: the words are those of the caller of `execl`, who ends them with a null.
    unsafe { Split { first, others }.with(|words, _| execv(path, words)) }
}

unsafe extern "C" fn execlp_with(file: Word, first: Words, others: Words) -> c_int {
    // SAFETY: as in `execl_with`.
    unsafe { Split { first, others }.with(|words, _| execvp(file, words)) }
}

unsafe extern "C" fn execle_with(path: Word, first: Words, others: Words) -> c_int {
    // SAFETY: as in `execl_with`; behind the null is the environment.
    unsafe { Split { first, others }.with(|words, behind| execve(path, words, (*behind.cast::<Words>()).cast())) }
}
