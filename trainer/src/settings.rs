//! What one run does: the settings after they were checked.
use std::path::PathBuf;

use crate::checkpoint::Asked;
use crate::data::Dealt;
use crate::device::DeviceName;
use crate::model::op::{Op, Place};
use crate::model::stage::Stage;
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

/// What is put in place of every ReLU and ReLU6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Activation {
    /// max(x, 0), in place: the backward pass reads its result, which the next layer keeps anyway.
    Relu,
    /// min(max(x, 0), 6), in place: the backward pass reads its input, so autograd copies that first.
    Relu6,
}

impl Activation {
    /// The name on the command line and in the timeline.
    pub fn as_str(self) -> &'static str {
        match self {
            Activation::Relu => "relu",
            Activation::Relu6 => "relu6",
        }
    }

    /// Has it wherever there is one of the two.
    fn put_into(self, stages: &mut [Stage]) {
        for stage in stages {
            stage.op = match (self, stage.op) {
                (Activation::Relu, Op::Relu6) => Op::Relu(Place::InPlace),
                (Activation::Relu6, Op::Relu(_)) => Op::Relu6,
                (_, op) => op,
            };
        }
    }
}

/// The order of a map's dimensions in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Layout {
    /// [N, C, H, W]: a channel's pixels side by side. What libtorch does when it is told nothing.
    #[default]
    ChannelsFirst,
    /// [N, H, W, C]: a pixel's channels side by side.
    ChannelsLast,
}

impl Layout {
    /// The name on the command line and in the timeline.
    pub fn as_str(self) -> &'static str {
        match self {
            Layout::ChannelsFirst => "channels-first",
            Layout::ChannelsLast => "channels-last",
        }
    }
}

/// How a training run differs from one in which each step changes the whole network, and all data is there from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Variation {
    /// What each step changes.
    pub only: TrainOnly,
    /// In how many equal parts each step runs its batch.
    pub accumulate: u64,
    /// What is put in place of every ReLU and ReLU6.
    pub activation: Option<Activation>,
    /// The order of a map's dimensions in memory.
    pub layout: Layout,
    /// How the images are dealt out; none: a run learns from all of them, and no accuracy is measured.
    pub dealt: Option<Dealt>,
    /// What each day learns from.
    pub increment: Increment,
    /// Weights to begin with.
    pub weights: Option<PathBuf>,
    /// Where the weights go after the last step.
    pub save_weights: Option<PathBuf>,
}

impl Default for Variation {
    /// None.
    fn default() -> Variation {
        Variation {
            only: TrainOnly::All,
            accumulate: 1,
            activation: None,
            layout: Layout::ChannelsFirst,
            dealt: None,
            increment: Increment::New,
            weights: None,
            save_weights: None,
        }
    }
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

impl Settings {
    /// The stages of the network.
    pub fn stages(&self) -> Vec<Stage> {
        let mut stages = self.model.stages(self.classes);
        if let Some(activation) = self.variation.activation {
            activation.put_into(&mut stages);
        }
        stages
    }

    /// Inputs that run at once: the batch, or the parts of it that it is run in.
    pub fn inputs_at_once(&self) -> u64 {
        self.batch / self.variation.accumulate
    }
}

/// The file that a run writes unless another is named: `MODEL-MODE.timeline.json`.
pub fn timeline_name(model: ModelName, mode: Mode) -> String {
    format!("{model}-{mode}.timeline.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::plan::saved_for_backward;

    /// ReLU6 keeps a copy of what it reads: in MobileNetV1, whose 27 ReLUs leave 5,042,688 values of an image of 224 x 224, that is 19.24 MiB
    /// more. But the last one leaves a map that nobody keeps then: 1,024 x 7 x 7 values, 0.19 MiB, that ReLU itself keeps.
    #[test]
    fn relu6_in_place_of_relu() {
        let model = ModelName::MobileNetV1;
        let mut stages = model.stages(1000);
        let saved = |stages: &[Stage]| {
            let of = |batch| saved_for_backward(stages, batch, model.input()).expect("fits").values().sum::<u64>();
            of(2) - of(1)
        };
        let relu = saved(&stages);
        Activation::Relu6.put_into(&mut stages);
        let relu6 = saved(&stages);
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        assert_eq!([relu, relu6].map(mib), ["38.5 MiB", "57.5 MiB"]);
        assert_eq!(relu6 - relu, (5_042_688 - 1_024 * 7 * 7) * 4);
        assert_eq!(stages.iter().filter(|stage| stage.op == Op::Relu6).count(), 27);
        Activation::Relu.put_into(&mut stages);
        assert_eq!(saved(&stages), relu);
    }
}
