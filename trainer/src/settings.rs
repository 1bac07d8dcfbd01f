//! What one run does: the settings after they were checked.
use std::path::PathBuf;

use crate::checkpoint::Asked;
use crate::data::Dealt;
use crate::device::DeviceName;
use crate::model::{Chained, ModelName, TrainOnly};
use crate::optimizer::Optimizer;
use crate::precision::Precision;

/// Training or inference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// Forward, loss, backward, optimizer.
    Train,
    /// Forward only, without gradients, batch norm with its running statistics.
    Infer,
}

impl Mode {
    /// The name on the command line and in the timeline.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Train => "train",
            Mode::Infer => "infer",
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a day of a run learns from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Increment {
    /// The images of that day.
    #[default]
    New,
    /// Those of that day and of all before it.
    All,
}

impl Increment {
    /// The name on the command line and in the timeline.
    pub fn as_str(self) -> &'static str {
        match self {
            Increment::New => "new",
            Increment::All => "all",
        }
    }
}

/// How a training run differs from one in which each step changes the whole network, and all data is there from the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variation {
    /// What each step changes.
    pub only: TrainOnly,
    /// How the images are dealt out; none: a run learns from all of them, and no accuracy is measured.
    pub dealt: Option<Dealt>,
    /// What each day learns from.
    pub increment: Increment,
    /// Weights to begin with.
    pub weights: Option<PathBuf>,
    /// Where the weights go after the last step.
    pub save_weights: Option<PathBuf>,
}

/// One run, ready to go.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The network.
    pub model: ModelName,
    /// Training or inference.
    pub mode: Mode,
    /// Images or texts in a step.
    pub batch: u64,
    /// Number of steps, of all days together.
    pub steps: u64,
    /// Height and width of the images, in pixels; of texts their length in tokens.
    pub size: u64,
    /// Threads that libtorch computes with.
    pub threads: u64,
    /// Seed of the weights and of the order of the data.
    pub seed: u64,
    /// Folder of the images, or of the texts; none for a run that needs no data.
    pub data: Option<PathBuf>,
    /// Moves that the replay buffer has room for; none for a run that has no such buffer.
    pub replay: Option<u64>,
    /// Outputs of the last layer; for each place of a text that it tells something of.
    pub classes: u64,
    /// Where the network runs.
    pub device: DeviceName,
    /// The numbers that the network computes in.
    pub precision: Precision,
    /// The optimizer; there is none in inference.
    pub optimizer: Option<Optimizer>,
    /// What a training step keeps and what it computes again; none: it keeps all, and no part of it is measured.
    pub checkpoint: Option<Asked>,
    /// What is changed in each step, and learned from on each day.
    pub variation: Variation,
    /// The timeline to write; none when tracking is off.
    pub out: Option<PathBuf>,
    /// Whether the forward pass consists of chained expressions.
    pub chained: Option<Chained>,
    /// Whether ReLU and the sums of residual blocks work in place.
    pub in_place: bool,
    /// Whether libtorch's operators tell what they read.
    pub reads: bool,
    /// Whether stdout carries one line of JSON and nothing else.
    pub json_times: bool,
    /// Whether each layer is timed.
    pub layer_times: bool,
    /// Whether each step waits for a line on stdin and is answered on stdout.
    pub take_turns: bool,
}

/// The file that a run writes unless another is named: `MODEL-MODE.timeline.json`.
pub fn timeline_name(model: ModelName, mode: Mode) -> String {
    format!("{model}-{mode}.timeline.json")
}
