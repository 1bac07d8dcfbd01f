//! `cargo xtask bench`: what tracking costs, in interleaved rounds. Never a test: a busy machine must not turn CI red.
//!
//! Each part is a file of its own that gives `Answer`s; their keys appear in the JSON, their limits in the table.

mod answer;
mod churn;
mod footprint;
mod instructions;
mod peers;
mod report;
mod rounds;
mod train_step;
mod workload;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::child::{self, Programs};
use crate::libtorch;
use crate::workspace::Workspace;

use answer::Answer;

/// What was asked of `cargo xtask bench`.
#[derive(Args, Clone, Debug)]
pub struct Wish {
    /// Fewer rounds: an answer in about three minutes, with a wider spread
    #[arg(long)]
    quick: bool,
    /// Nothing but one JSON object on stdout
    #[arg(long)]
    json: bool,
    /// Other memory profilers on the same workloads as well; builds the crates among them
    #[arg(long)]
    peers: bool,
    /// Only these parts, separated by commas [default: all of them]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    only: Vec<Part>,
    /// Fetch nothing: use the libtorch that is on this machine
    #[arg(long)]
    offline: bool,
}

/// The parts of the benchmark, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// malloc+free pairs
    Churn,
    /// Parsing JSON
    Json,
    /// Instructions of a pair, by callgrind
    Instructions,
    /// A training step of ResNet-18, and the tracker's memory on that run
    Train,
    /// The tracker's memory for blocks and threads
    Footprint,
}

/// What the measurements share.
struct Bench<'a> {
    workspace: &'a Workspace,
    /// The workloads of `tests/workloads`.
    workloads: Programs,
    /// Fewer rounds.
    quick: bool,
}

impl Bench<'_> {
    /// How many rounds of a measurement are run.
    fn rounds(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}

/// The command.
pub fn run(workspace: &Workspace, wish: &Wish) -> Result<()> {
    let parts = if wish.only.is_empty() { Part::value_variants() } else { &wish.only };
    if parts.contains(&Part::Train) {
        libtorch::ensure(workspace, libtorch::Wish { offline: wish.offline, again: false })?;
    }
    let workloads = child::build(workspace, &["-p", "tests", "--bins"])?;
    let bench = Bench { workspace, workloads, quick: wish.quick };
    let mut answers: Vec<Answer> = Vec::new();
    for part in parts {
        answers.extend(match part {
            Part::Churn => churn::measure(&bench)?,
            Part::Json => vec![churn::json(&bench)?],
            Part::Instructions => instructions::measure(&bench)?,
            Part::Train => train_step::measure(&bench)?,
            Part::Footprint => footprint::measure(&bench)?,
        });
    }
    let peers = if wish.peers { Some(peers::measure(&bench)?) } else { None };
    if wish.json {
        println!("{}", report::json(workspace, &answers, peers.as_deref().map(peers::json)));
        return Ok(());
    }
    println!("{}", report::text(&answers));
    if let Some(peers) = peers {
        println!("{}", peers::text(&peers));
    }
    println!("{}", report::conditions(workspace));
    Ok(())
}
