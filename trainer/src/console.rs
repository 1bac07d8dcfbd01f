//! Lines for the user. A reader that has gone away (`| head`) must not end a training run, so unlike `println!` nothing
//! here panics.
use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};

/// Prints a line on stdout that the run can do without.
pub(crate) fn print_line(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Prints a line on stderr.
pub(crate) fn print_error_line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints on stdout what the user asked for.
///
/// # Errors
/// When it cannot be written (a full disk), but not when nobody reads it any more.
pub(crate) fn print_result(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("the result cannot be written to stdout")
        }
        _ => Ok(()),
    }
}
