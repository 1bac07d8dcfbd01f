//! What can be typed behind `run-limited` and `fit`.
use std::ffi::OsString;
use std::path::PathBuf;

use alloc_timeline::size;
use clap::Args;

use super::work::WorkArgs;
use crate::limit::{Limit, Means};
use crate::model::ModelName;
use crate::optimizer::Optimizer;

/// A command under one limit of memory, or under several, one after the other.
#[derive(Clone, Debug, Args)]
pub struct RunLimitedArgs {
    /// Memory that the command and all its processes may have: 512M, 1.5GiB, none. Several, separated by commas, make a
    /// table of one run each.
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = Limit::parse, required = true)]
    pub memory: Vec<Limit>,
    /// Swap that they may have besides [default: what the machine allows].
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub swap: Option<u64>,
    /// What enforces the limit [default: a control group where one can be made, else the size of the address space].
    #[arg(long, value_enum, default_value_t = Means::Auto)]
    pub by: Means,
    /// Folder for limits.csv, limits.json and limits.svg, and for each run's timeline.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print JSON on stdout in place of the report; what the command prints on stdout goes to stderr.
    #[arg(long)]
    pub json: bool,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Whether a training run fits into a budget.
#[derive(Clone, Debug, Args)]
pub struct FitArgs {
    /// Memory that the process may have, libraries and tracker included: 8G, 512MiB.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub budget: u64,
    /// The network.
    #[arg(long, value_enum)]
    pub model: ModelName,
    /// Size and origin of the work; its batch is what is asked about.
    #[command(flatten)]
    pub work: WorkArgs,
    /// What the optimizer keeps for each parameter.
    #[command(flatten)]
    pub optimizer: Optimizer,
    /// The batches to measure, two or more [default: 2 and 4, then two, four and seven eighths of what seems to fit].
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub measure: Vec<u64>,
    /// Run the largest batch that fits and the smallest that does not, under the budget as a limit: the first must pass,
    /// the second must be killed.
    #[arg(long)]
    pub verify: bool,
    /// Verify, and run as many batches between the two as it takes until one passes and the next one is killed.
    #[arg(long)]
    pub search: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

fn bytes(text: &str) -> Result<u64, size::SizeError> {
    size::parse(text)
}
