//! `cargo xtask bench`: what tracking costs, in interleaved pairs. Never a test: a busy machine must not turn CI red.
//!
//! Each measurement is a file of its own with a `MEASUREMENT`; a new one is named in `ALL`, and its key appears in the JSON.

mod pair;
mod report;
mod train_step;

use anyhow::Result;
use clap::Args;

use crate::child::{self, Programs};
use crate::libtorch;
use crate::workspace::Workspace;

use pair::Compared;

/// What was asked of `cargo xtask bench`.
#[derive(Args, Clone, Copy, Debug)]
pub struct Wish {
    /// Fewer pairs: an answer in about a minute, with a wider spread
    #[arg(long)]
    quick: bool,
    /// Nothing but one JSON object on stdout
    #[arg(long)]
    json: bool,
    /// Fetch nothing: use the libtorch that is on this machine
    #[arg(long)]
    offline: bool,
}

/// One question with a ratio for an answer.
struct Measurement {
    /// Its name in the JSON.
    key: &'static str,
    /// What is divided by what, in words.
    title: &'static str,
    /// How many pairs are run, in full and with `--quick`.
    pairs: (usize, usize),
    /// Runs it.
    run: fn(&Bench<'_>, pairs: usize) -> Result<Compared>,
}

/// What the measurements share.
struct Bench<'a> {
    workspace: &'a Workspace,
    programs: &'a Programs,
}

const ALL: [Measurement; 1] = [train_step::MEASUREMENT];

/// The command.
pub fn run(workspace: &Workspace, wish: Wish) -> Result<()> {
    libtorch::ensure(workspace, libtorch::Wish { offline: wish.offline, again: false })?;
    // The same build as the demo's: another choice of packages would be another set of features, and build half of it again.
    let programs = child::build(workspace, &["-p", "trainer", "-p", "viewer"])?;
    let bench = Bench { workspace, programs: &programs };
    let mut answers = Vec::new();
    for measurement in ALL {
        let pairs = if wish.quick { measurement.pairs.1 } else { measurement.pairs.0 };
        let compared = (measurement.run)(&bench, pairs)?;
        if !wish.json {
            println!("{}", report::text(measurement.key, measurement.title, &compared));
        }
        answers.push((measurement, compared));
    }
    if wish.json {
        println!("{}", report::json(workspace, &answers));
    }
    Ok(())
}
