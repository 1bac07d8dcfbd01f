//! `cargo xtask test`: everything built, every test run, one line at the end.

mod tally;

use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;

use self::tally::{Echo, Tally};
use crate::child::{self, OutputLine};
use crate::libtorch::{self, LibtorchArgs};
use crate::outcome::Outcome;
use crate::workspace::Workspace;
use crate::{foreign, programs, python, user_error};

/// What `cargo xtask test` is asked to do.
#[derive(Args, Clone, Copy, Debug)]
pub struct TestArgs {
    /// Fetch nothing: use what is on this machine, or say what is missing
    #[arg(long)]
    offline: bool,
}

/// A run of `cargo test`.
struct Run {
    /// What the user is told.
    what: &'static str,
    /// The arguments that choose the tests.
    which: &'static [&'static str],
    /// Packages that are compiled without optimisation and with all assertions.
    in_debug: &'static [&'static str],
}

/// The traps run a second time in debug. What the tracker depends on is not compiled again for that: it has no part in what is
/// tested, and would take minutes.
const RUNS: [Run; 2] = [
    Run { what: "run every test", which: &["--workspace"], in_debug: &[] },
    Run {
        what: "run the traps again in debug, with all assertions",
        which: &["--workspace", "--test", "traps"],
        in_debug: &["alloc-tracker", "alloc-interpose", "alloc-replay", "alloc-timeline", "tests"],
    },
];

/// Settings of the release profile for a package that is compiled as the debug profile would.
const IN_DEBUG: [&str; 3] = ["opt-level=0", "debug-assertions=true", "overflow-checks=true"];

/// The command. The last line on stdout is `N passed, M failed`.
pub fn run(workspace: &Workspace, args: TestArgs) -> Result<Outcome> {
    let started = Instant::now();
    let say = |what: &str| eprintln!("[{:5.0} s] {what}", started.elapsed().as_secs_f64());
    libtorch::ensure(workspace, LibtorchArgs { offline: args.offline, again: false })?;
    say("build everything in release (libtorch's bindings take minutes the first time)");
    programs::build(workspace, &programs::EVERYTHING)?;

    if !args.offline
        && let Err(error) = foreign::fetch(workspace)
    {
        eprintln!("{}", user_error::full_message(&error));
    }

    let with_torch = python::with_torch(workspace);
    match &with_torch {
        Some(python) => say(&format!("programs in Python run in {}", python.display())),
        None => say("programs in Python run in python3; `cargo xtask python` makes one with torch"),
    }
    let mut tally = Tally::default();
    let mut all_succeeded = true;
    for run in RUNS {
        say(run.what);
        let mut cargo = workspace.cargo();
        cargo.args(["test", "--release"]).args(run.which);
        for (package, setting) in run.in_debug.iter().flat_map(|package| IN_DEBUG.map(|setting| (package, setting))) {
            cargo.arg("--config").arg(format!("profile.release.package.{package}.{setting}"));
        }
        cargo.args(["--no-fail-fast", "--", "--show-output"]);
        // Tests that time nothing are quickest and most repeatable when libtorch does not share the cores with them.
        cargo.env("OMP_NUM_THREADS", "1");
        if let Some(python) = &with_torch {
            cargo.env(python::VARIABLE, python);
        }
        all_succeeded &= child::stream_lines(&mut cargo, |line| match line {
            OutputLine::Stderr(line)
                if ["Running ", "Doc-tests "].iter().any(|word| line.trim_start().starts_with(word)) =>
            {
                say(line.trim());
            }
            OutputLine::Stderr(line) => eprintln!("{line}"),
            OutputLine::Stdout(line) => {
                if tally.read_line(&line) == Echo::Show {
                    println!("{line}");
                }
            }
        })
        .context("cannot run cargo test")?;
    }
    let verdict = tally.verdict(all_succeeded);
    say("done");
    for line in &verdict.details {
        println!("{line}");
    }
    println!("{}", verdict.line);
    Ok(if verdict.good { Outcome::Fine } else { Outcome::CheckFailed })
}
