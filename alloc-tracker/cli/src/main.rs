//! `alloc-tracker`: records programs that know nothing of the tracker, and asks something of them while they run.
//!
//! ```text
//! args -> program (may it be recorded?) -> library, python (what it is given) -> launch (environment, signals, the wait) -> ended
//!      |-> ask (dump, mark, stop)
//!      \-> header (for programs in C and C++)
//! ```
mod args;
mod failure;

mod cache;
mod elf;
mod embedded;
mod signals;

mod library;
mod program;
mod python;

mod ask;
mod ended;
mod header;
mod launch;

mod record;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::Failure;

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Record(typed) => record::run(&typed),
        Command::Dump(typed) => ask::dump(&typed),
        Command::Mark(typed) => ask::mark(&typed),
        Command::Stop(typed) => ask::stop(&typed),
        Command::Header => header::print(),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(Failure { code, error }) => {
            // When standard error is closed as well, the exit code still tells of the error.
            let _ = writeln!(std::io::stderr(), "alloc-tracker: {error:#}");
            ExitCode::from(code)
        }
    }
}
