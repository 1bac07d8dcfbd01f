//! The door: a command line in, text and files out, an exit code at the end.
//!
//! 0: fine. 1: a check failed. 2: the tool could not do its work; standard error says what, where and what to do.
mod args;
mod check;
mod compare;
mod draw;
mod export;
mod growth;
mod leaks;
mod lifetimes;
mod output;
mod owners;
mod reconcile;
mod recover;
mod report;
mod stacks;
mod summary;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use args::{Args, Command};
pub use recover::{Recovered, assemble};

/// What a command came to.
enum Outcome {
    /// It did what it was asked to.
    Fine(String),
    /// It did, and the answer is no.
    Failed(String),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // clap prints its own errors, and exits with 2 on them and with 0 after --help.
    let args = Args::parse();
    match run(args).and_then(|outcome| {
        let (text, code) = match outcome {
            Outcome::Fine(text) => (text, 0),
            Outcome::Failed(text) => (text, 1),
        };
        output::say(&text)?;
        Ok(code)
    }) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Where even standard error is closed, the exit code has to say it.
            let _ = writeln!(std::io::stderr(), "viewer: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: Args) -> Result<Outcome> {
    match args.command {
        None => draw::run(&args.draw),
        Some(Command::Summary(args)) => summary::run(&args),
        Some(Command::Compare(args)) => compare::run(&args),
        Some(Command::Diff(args)) => compare::run_diff(&args),
        Some(Command::Report(args)) => report::run(&args),
        Some(Command::Check(args)) => check::run(&args),
        Some(Command::Reconcile(args)) => reconcile::run(&args),
        Some(Command::Owners(args)) => owners::run(&args),
        Some(Command::Growth(args)) => growth::run(&args),
        Some(Command::Leaks(args)) => leaks::run(&args),
        Some(Command::Lifetimes(args)) => lifetimes::run(&args),
        Some(Command::Stacks(args)) => stacks::run(&args),
        Some(Command::Export(args)) => export::run(&args),
        Some(Command::Recover(args)) => recover::run(&args),
    }
}
