//! Trains and runs MobileNetV1 and ResNet-18 on libtorch, each layer a scope, each run a timeline.
//!
//! Data flows through the modules in this order:
//!
//! ```text
//! cli (what was typed) -> check (what is needed) -> data (batches) -> model (stages) -> run (steps, timeline)
//!                                                                                        |
//!                                                     experiment (many runs, a process each) <- timelines
//! ```
//!
//! Everything that only needs shapes (parameter counts, the bytes saved for backward) is computed from the list of
//! stages in [`model`], without touching libtorch: that is what the measured bytes are held against.

pub mod check;
pub mod cli;
pub mod data;
pub mod experiment;
pub mod model;
pub mod run;
mod say;

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::Parser;

use crate::cli::{Cli, Switch, Task};
use crate::run::Mode;

/// Exit code when the work could not be done.
const CANNOT: u8 = 2;
/// Exit code after Ctrl-C or SIGTERM, as shells count it: 128 + SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;
/// Read by the allocator at its first allocation; `off` switches tracking off for the process.
const TRACKER_VARIABLE: &str = "ALLOC_TRACKER";

/// The whole program: reads the command line, does what it says, reports errors on stderr.
pub fn main() -> ExitCode {
    match dispatch(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            say::err(&format!("error: {}", in_one_line(&error)));
            ExitCode::from(CANNOT)
        }
    }
}

/// The error and its causes, from the outside in. Some errors quote their cause; those causes are not said twice.
fn in_one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    match cli.task {
        Task::Train(args) => {
            let tracked = tracking(args.run.track)?;
            run::run(&check::settings(&args.run, Mode::Train, Some(args.sgd), tracked)?)
        }
        Task::Infer(args) => {
            let tracked = tracking(args.track)?;
            run::run(&check::settings(&args, Mode::Infer, None, tracked)?)
        }
        Task::Compare(args) => experiment::compare(&args),
        Task::Plan(args) => {
            say::result(&model::report::report(args.model, args.batch, args.image_size, args.classes, args.json)?)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Whether this process is tracked. The allocator decides at its first allocation, before `main`, so `--track off`
/// starts the same binary once more in this process with the variable set; that call does not return.
fn tracking(wanted: Switch) -> Result<bool> {
    let off = std::env::var_os(TRACKER_VARIABLE).is_some_and(|value| value == "off");
    match wanted {
        _ if off => Ok(false),
        Switch::On => Ok(true),
        Switch::Off => {
            let program =
                std::env::current_exe().context("cannot find this program's own file to start it untracked")?;
            let error = Command::new(&program).args(std::env::args_os().skip(1)).env(TRACKER_VARIABLE, "off").exec();
            Err(error).with_context(|| {
                format!("{}: cannot be started untracked; set {TRACKER_VARIABLE}=off yourself", program.display())
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_cause_is_said_once() {
        let plain = anyhow::anyhow!("disk full").context("a.json: cannot be written");
        assert_eq!(in_one_line(&plain), "a.json: cannot be written: disk full");
        let quoting = anyhow::anyhow!("disk full").context("cannot be written: disk full; make room").context("step 1");
        assert_eq!(in_one_line(&quoting), "step 1: cannot be written: disk full; make room");
    }
}
