//! What can be typed behind `train` of runs that change a part of the network only, learn day by day, or do the same step in another way.
use std::path::PathBuf;

use clap::Args;

use crate::model::TrainOnly;
use crate::settings::{Activation, Increment, Layout};

/// How a run differs from one in which each step changes the whole network, and all data is there from the start.
#[derive(Clone, Debug, Args)]
pub struct VariationArgs {
    /// What a step changes: all, last:K (the last K layers with parameters), layers:SHARE (a share of them, drawn anew for each
    /// step) or filters:SHARE (of each layer a share of its output channels, drawn anew for each step).
    #[arg(long, value_name = "PART", default_value_t = TrainOnly::All)]
    pub train_only: TrainOnly,
    /// Run the batch in so many equal parts, one after the other, and add up their gradients: one update, and the maps of one part
    /// at a time. Batch norms see the parts, not the batch.
    #[arg(long, value_name = "PARTS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub accumulate: u64,
    /// Have this activation wherever the network has ReLU or ReLU6.
    #[arg(long, value_enum)]
    pub activation: Option<Activation>,
    /// The order of a map's dimensions in memory.
    #[arg(long, value_enum, default_value_t = Layout::ChannelsFirst)]
    pub layout: Layout,
    /// Deal the images out to so many days, and do --steps steps on each.
    #[arg(long, value_name = "N")]
    pub days: Option<usize>,
    /// Images of a day [default: all of them, dealt out evenly].
    #[arg(long, value_name = "N", requires = "days")]
    pub images_a_day: Option<usize>,
    /// What a day learns from: its own images, or those of all days so far.
    #[arg(long, value_enum, default_value_t = Increment::New, requires = "days")]
    pub increment: Increment,
    /// Learn nothing from so many images, and print how many of them are told right, before the first step and after the last,
    /// and after each day.
    #[arg(long, value_name = "N")]
    pub held_out: Option<usize>,
    /// Pass over so many images behind the held-out ones: those that a run with this seed, whose weights are used, learned from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip_images: usize,
    /// Begin with the weights in this file, which --save-weights wrote. A layer of another shape keeps its random ones.
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// Write the weights to this file (safetensors) after the last step.
    #[arg(long, value_name = "FILE")]
    pub save_weights: Option<PathBuf>,
}
