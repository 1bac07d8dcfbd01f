//! Lines for the user. A reader that has gone away (`| head`) must not end a training run, so unlike `println!` nothing
//! here panics.
use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};

/// A line on stdout that the run can do without.
pub(crate) fn out(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// A line on stderr.
pub(crate) fn err(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// What was asked for, on stdout. It is an error when it cannot be written (a full disk), but not when nobody reads on.
pub(crate) fn result(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("the result cannot be written to stdout")
        }
        _ => Ok(()),
    }
}
