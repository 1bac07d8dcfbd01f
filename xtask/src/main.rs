//! `cargo xtask COMMAND`: everything that a fresh checkout needs, from finding libtorch to the first report.
//!
//! The modules stand in the order in which a new machine meets them: what is missing (`prerequisite`), libtorch, data,
//! then the commands that build and run (`demo`, `gate`, `test`, `bench`). Exit codes: 0 fine, 1 a check failed, 2 the
//! command could not do its work.

mod cli;
mod progress;
mod trouble;
mod workspace;

mod prerequisite;

mod checksum;
mod libtorch;

mod debian;
mod foreign;

mod data;

mod callgrind;
mod child;
mod trainer_run;

mod bench;
mod demo;
mod gate;
mod suite;

use std::process::ExitCode;

use clap::Parser;

/// How a command ended when it could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is as it should be: exit code 0.
    Fine,
    /// A test or a gate said no: exit code 1.
    CheckFailed,
}

fn main() -> ExitCode {
    match cli::run(cli::Cli::parse()) {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::CheckFailed) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{}", trouble::told(&error));
            ExitCode::from(2)
        }
    }
}
