//! `cargo xtask COMMAND`: everything that a fresh checkout needs, from finding libtorch to the first report.
//!
//! The modules stand on floors; each uses only modules of the floors above it in this list:
//!
//! ```text
//! outcome, user_error, progress        how commands end, what they tell the user
//! prerequisite, checksum, pip          what the machine must have, what files must be, what pip says
//! shared_folder                        what all checkouts of a user share
//! workspace, child                     the checkout and its cargo; other programs
//! programs                             what cargo has built
//! libtorch, debian, python             what is fetched: libtorch, packages of Debian, a Python with torch
//! foreign, data, oracle                what the tests and the trainer get from packages
//! callgrind, trainer_compare, virtual_machine  runs of the programs that were built
//! aarch64, bench, cgroup_v2, demo, gate, reproduce, suite, wheel  the commands that build and run
//! cli                                  what can be typed
//! ```
//!
//! Exit codes: 0 fine, 1 a check failed, 2 the command could not do its work.
#![forbid(unsafe_code)]

mod outcome;
mod progress;
mod user_error;

mod checksum;
mod pip;
mod prerequisite;
mod shared_folder;

mod child;
mod workspace;

mod programs;

mod debian;
mod libtorch;
mod python;

mod data;
mod foreign;
mod oracle;

mod callgrind;
mod trainer_compare;
mod virtual_machine;

mod aarch64;
mod bench;
mod cgroup_v2;
mod demo;
mod gate;
mod reproduce;
mod suite;
mod wheel;

mod cli;

use std::process::ExitCode;

use clap::Parser;

use crate::outcome::Outcome;

fn main() -> ExitCode {
    match cli::run(cli::Cli::parse()) {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::CheckFailed) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{}", user_error::full_message(&error));
            ExitCode::from(2)
        }
    }
}
