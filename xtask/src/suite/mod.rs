//! `cargo xtask test`: everything built, every test run, one line at the end.

mod tally;

use std::time::Instant;

use anyhow::{Context, Result};

use crate::child::{self, Line};
use crate::cli::Offline;
use crate::workspace::Workspace;
use crate::{Outcome, foreign, libtorch, trouble};

use tally::{Tally, Word};

/// What is run, and the words that say so to cargo.
const RUNS: &[(&str, &[&str])] = &[
    ("run every test", &["--release", "--workspace"]),
    ("run the traps again in debug, with all assertions", &["--package", "tests", "--test", "traps"]),
];

/// The command. The last line on stdout is `N passed, M failed`.
pub fn run(workspace: &Workspace, offline: Offline) -> Result<Outcome> {
    let started = Instant::now();
    let say = |what: &str| eprintln!("[{:5.0} s] {what}", started.elapsed().as_secs_f64());
    libtorch::ensure(workspace, libtorch::Wish { offline: offline.offline, again: false })?;
    say("build everything in release (libtorch's bindings take minutes the first time)");
    child::build(workspace, &["--workspace", "--all-targets"])?;

    if !offline.offline
        && let Err(error) = foreign::fetch(workspace)
    {
        eprintln!("{}", trouble::told(&error));
    }

    let mut tally = Tally::default();
    let mut all_well = true;
    for (what, which) in RUNS {
        say(what);
        let mut cargo = workspace.cargo();
        cargo.arg("test").args(*which).args(["--no-fail-fast", "--", "--show-output"]);
        // Tests that time nothing are quickest and most repeatable when libtorch does not share the cores with them.
        cargo.env("OMP_NUM_THREADS", "1");
        all_well &= child::listen(&mut cargo, |line| match line {
            Line::Err(line) if ["Running ", "Doc-tests "].iter().any(|word| line.trim_start().starts_with(word)) => {
                say(line.trim());
            }
            Line::Err(line) => eprintln!("{line}"),
            Line::Out(line) => {
                if tally.hear(&line) == Word::Aloud {
                    println!("{line}");
                }
            }
        })
        .context("cannot run cargo test")?;
    }
    let verdict = tally.verdict(all_well);
    say("done");
    for line in &verdict.details {
        println!("{line}");
    }
    println!("{}", verdict.line);
    Ok(if verdict.good { Outcome::Fine } else { Outcome::CheckFailed })
}
