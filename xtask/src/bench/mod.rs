//! `cargo xtask bench`: what tracking costs, in interleaved rounds. Never a test: a busy machine must not turn CI red.
//!
//! Each part is a file of its own that returns `Measurement`s; their keys appear in the JSON, their limits in the table.

mod context;
mod rounds;

mod layouts;
mod measurement;

mod workload;

mod churn;
mod footprint;
mod instructions;
mod long_run;
mod peers;
mod probes;
mod python;
mod tracker_memory;
mod train_step;

mod report;

use anyhow::Result;
use clap::{Args, ValueEnum};

use self::context::Bench;
use self::measurement::Measurement;
use crate::libtorch::{self, LibtorchArgs};
use crate::programs;
use crate::workspace::Workspace;

/// What `cargo xtask bench` is asked to do.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Fewer rounds: an answer in about three minutes, with a wider spread
    #[arg(long)]
    quick: bool,
    /// Add rounds to rows that are not known yet for so many minutes, each time [default: 5, and half a minute with --quick]
    #[arg(long, value_name = "MINUTES")]
    patience: Option<u32>,
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
    /// The probes' share of a core while a session records
    Probes,
    /// Steps of programs in Python, recorded and plain. Needs a Python with torch: that of `cargo xtask python`, or one that ALLOC_TRACKER_TEST_PYTHON names
    Python,
    /// The tracker's memory for blocks and threads
    Footprint,
    /// The tracker's memory at step 60 of DenseNet-121, and at step 600 (not with --quick)
    LongRun,
}

/// The command.
pub fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    let parts = if args.only.is_empty() { Part::value_variants() } else { &args.only };
    if [Part::Train, Part::Probes, Part::Python, Part::LongRun].iter().any(|part| parts.contains(part)) {
        libtorch::ensure(workspace, LibtorchArgs { offline: args.offline, again: false })?;
    }
    let workloads = programs::build(workspace, &programs::WORKLOADS)?;
    let bench = Bench { workspace, workloads, quick: args.quick, minutes: args.patience };
    let mut measurements: Vec<Measurement> = Vec::new();
    for part in parts {
        measurements.extend(match part {
            Part::Churn => churn::measure(&bench)?,
            Part::Json => churn::json(&bench)?,
            Part::Instructions => instructions::measure(&bench)?,
            Part::Train => train_step::measure(&bench)?,
            Part::Probes => probes::measure(&bench)?,
            Part::Python => python::measure(&bench)?,
            Part::Footprint => footprint::measure(&bench)?,
            Part::LongRun => long_run::measure(&bench)?,
        });
    }
    let peers = if args.peers { Some(peers::measure(&bench)?) } else { None };
    if args.json {
        println!("{}", report::json(workspace, &measurements, peers.as_deref().map(peers::json)));
        return Ok(());
    }
    println!("{}", report::text(&measurements));
    if let Some(peers) = peers {
        println!("{}", peers::text(&peers));
    }
    println!("{}", report::conditions(workspace));
    Ok(())
}
