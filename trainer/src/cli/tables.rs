//! What can be typed behind `tables` and `fit-table`.
use alloc_timeline::size;
use clap::Args;

use super::models::Models;
use super::work::WorkArgs;
use crate::optimizer::Optimizer;

/// The memory of training steps in tables.
#[derive(Clone, Debug, Args)]
pub struct TablesArgs {
    /// The networks, separated by commas; `all` is all of them.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "resnet18,resnet34,resnet50,resnet101,resnet152"
    )]
    pub models: Vec<Models>,
    /// The batches, separated by commas [default: that of --batch].
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub batches: Vec<u64>,
    /// The sizes of the images, separated by commas [default: that of --image-size].
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    pub image_sizes: Vec<u64>,
    /// See [`WorkArgs`].
    #[command(flatten)]
    pub work: WorkArgs,
    /// Its state is part of the plan.
    #[command(flatten)]
    pub optimizer: Optimizer,
    /// Run two steps of every row in a process of its own, and print what they had beside the plan.
    #[arg(long)]
    pub measure: bool,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub json: bool,
}

/// Which batches fit into which budgets.
#[derive(Clone, Debug, Args)]
pub struct FitTableArgs {
    /// The networks, separated by commas; `all` is all of them.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "all")]
    pub models: Vec<Models>,
    /// Memory that the process may have, several separated by commas.
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = bytes, default_value = "8G,4G,2G,512M")]
    pub budgets: Vec<u64>,
    /// What the process needs whatever it trains; nothing is measured then, and the answers are from shapes alone [default: small
    /// runs of each network measure it, and the workspace of its operators].
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub base: Option<u64>,
    /// See [`WorkArgs`]. Without --image-size, each network has images of the size that its reference is for.
    #[command(flatten)]
    pub work: WorkArgs,
    /// Its state is part of the plan.
    #[command(flatten)]
    pub optimizer: Optimizer,
    /// Run the largest batch of each network in each budget under that budget as a limit, and batches above or below it, until one
    /// passes and another is killed.
    #[arg(long)]
    pub verify: bool,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub json: bool,
}

fn bytes(text: &str) -> Result<u64, String> {
    match size::parse(text) {
        Ok(0) => Err("no program runs in no memory; give more".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    }
}
