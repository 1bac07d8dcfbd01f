//! The binary. All code is in the library, so that tests can call it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    viewer::cli::main()
}
