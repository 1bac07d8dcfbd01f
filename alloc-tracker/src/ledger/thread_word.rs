//! Words that each thread has for itself, read and written without a call.
//!
//! `thread_local!` will not do for what an allocation reads. In a shared library it calls `__tls_get_addr`, and on a thread that is older
//! than some of the libraries in the process that function enlarges the thread's table of libraries: with `malloc` or `realloc`, which
//! would ask for the same variable, without an end. (It also keeps the address in a register over calls, which costs the hot path
//! four instructions.) On aarch64 the variables of a library that is there from the start are found without a call in any case.

/// Not for programs: the library that is preloaded has words of this kind as well.
///
/// Defines a module with the functions `get` and `set` for a word of the calling thread. `$kind` is its type, one of a register's size;
/// `$symbol` its name for the linker; `$operand` its first value as an operand of assembly, and `$value` the same as an expression.
#[doc(hidden)]
#[macro_export]
macro_rules! thread_word {
    ($(#[$doc:meta])* $name:ident: $kind:ty, $symbol:literal, $operand:ident $first:expr, $value:expr) => {
        $(#[$doc])*
        mod $name {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            std::arch::global_asm!(
                concat!(".pushsection .tdata.", $symbol, ", \"awT\", @progbits"),
                ".p2align 3",
                concat!(".hidden ", $symbol),
                concat!(".globl ", $symbol),
                concat!(".type ", $symbol, ", @tls_object"),
                concat!(".size ", $symbol, ", 8"),
                concat!($symbol, ":"),
                ".quad {first}",
                ".popsection",
                first = $operand $first,
            );

            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            #[inline(always)]
            pub fn get() -> $kind {
                let word;
                // SAFETY: this reads the calling thread's own variable, defined above, by the initial-exec model of the ELF TLS ABI.
                unsafe {
                    std::arch::asm!(
                        concat!("mov {word}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov {word}, qword ptr fs:[{word}]",
                        word = out(reg) word,
                        options(pure, readonly, nostack, preserves_flags),
                    );
                }
                word
            }

            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            pub fn set(word: $kind) {
                // SAFETY: this writes the calling thread's own variable, defined above, by the same model as `get`.
                unsafe {
                    std::arch::asm!(
                        concat!("mov {offset}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                        "mov qword ptr fs:[{offset}], {word}",
                        offset = out(reg) _,
                        word = in(reg) word,
                        options(nostack, preserves_flags),
                    );
                }
            }

            #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
            thread_local! {
                // Plain memory without a destructor, so that it works until the thread's very last instruction.
                static WORD: std::cell::Cell<$kind> = const { std::cell::Cell::new($value) };
            }

            #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
            #[inline(always)]
            pub fn get() -> $kind {
                WORD.with(std::cell::Cell::get)
            }

            #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
            pub fn set(word: $kind) {
                WORD.with(|cell| cell.set(word));
            }
        }
    };
}

pub(super) use thread_word;
