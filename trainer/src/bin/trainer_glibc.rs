//! The trainer over the C library's own malloc: nothing is tracked and nothing can be, because neither the tracker nor
//! the malloc family of `alloc_interpose` is linked in. `cargo xtask bench` times it against the trainer; it needs
//! `--track off`, else it refuses because libtorch cannot be watched.
use std::process::ExitCode;

fn main() -> ExitCode {
    trainer::main()
}
