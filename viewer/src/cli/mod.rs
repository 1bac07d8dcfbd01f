//! The command line: it turns arguments into text and files, and ends with an exit code.
//!
//! The exit code is 0 when all is fine, 1 when a check failed, and 2 when the tool could not do its work. In that case
//! standard error says what went wrong, where, and what the user can do.
mod args;
mod outcome;
mod output;

mod check;
mod compare;
mod device_snapshot;
mod draw;
mod export;
mod inspect;
mod reconcile;
mod recover;
mod report;
mod series;
mod times;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use args::{Args, Command};
use outcome::Outcome;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // clap prints its own errors and exits: with 2 after an error, with 0 after --help.
    let args = Args::parse();
    match run(args).and_then(|outcome| {
        let (text, ended) = match outcome {
            Outcome::Fine(text) => (text, Ok(0)),
            Outcome::Failed(text) => (text, Ok(1)),
            Outcome::Incomplete { text, problems } => (text, Err(problems)),
        };
        output::print(&text)?;
        ended
    }) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // When standard error is closed as well, the exit code still tells of the error.
            let _ = writeln!(std::io::stderr(), "viewer: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: Args) -> Result<Outcome> {
    match args.command {
        None => draw::run(&args.draw),
        Some(Command::Summary(args)) => inspect::summary(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Diff(args)) => compare::run_diff(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Reconcile(args)) => reconcile::run(&args),
        Some(Command::Owners(args)) => inspect::owners(&args),
        Some(Command::Growth(args)) => inspect::growth(&args),
        Some(Command::Leaks(args)) => inspect::leaks(&args),
        Some(Command::Unread(args)) => inspect::unread(&args),
        Some(Command::Lifetimes(args)) => inspect::lifetimes(&args),
        Some(Command::Power(args)) => inspect::power(&args),
        Some(Command::Times(args)) => times::times(&args),
        Some(Command::Steps(args)) => times::steps(&args),
        Some(Command::Series(args)) => series::run(&args),
        Some(Command::Stacks(args)) => inspect::stacks(&args),
        Some(Command::DeviceSnapshot(args)) => device_snapshot::run(&args),
        Some(Command::Export(args)) => export::run(&args),
        Some(Command::Recover(args)) => recover::run(&args),
    }
}
