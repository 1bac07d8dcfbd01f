//! What can be typed behind `advise`.
use clap::Args;

use super::work::WorkArgs;
use crate::model::ModelName;
use crate::optimizer::Optimizer;

/// A training step that should take less memory.
#[derive(Clone, Debug, Args)]
pub struct AdviseArgs {
    /// The network.
    #[arg(long, value_enum)]
    pub model: ModelName,
    /// See [`WorkArgs`].
    #[command(flatten)]
    pub work: WorkArgs,
    /// See [`Optimizer`].
    #[command(flatten)]
    pub optimizer: Optimizer,
    /// How often each change runs; the changes and the step as it is take turns.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u64).range(1..))]
    pub repeat: u64,
    /// Print one JSON object, with every layer, instead of a table.
    #[arg(long)]
    pub json: bool,
}
