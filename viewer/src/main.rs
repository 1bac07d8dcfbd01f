//! The binary: everything stands in the library, so that tests can call it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    viewer::cli::main()
}
