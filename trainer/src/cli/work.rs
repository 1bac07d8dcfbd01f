//! Size and origin of the work: what every command that runs a network can be told.
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::device::DeviceName;
use crate::model::ModelName;

/// Upper bounds, so that every product of sizes stays far below 2^63.
pub(crate) const MOST_INPUTS: u64 = 1_000_000;
pub(crate) const LARGEST_INPUT: u64 = 8_192;
pub(crate) const MOST_CLASSES: u64 = 1_000_000;
pub(crate) const MOST_STEPS: u64 = 1_000_000_000;
pub(crate) const MOST_THREADS: u64 = 4_096;

/// Size and origin of the work; the same for every kind of run.
#[derive(Clone, Debug, Args)]
pub struct WorkArgs {
    /// Images or texts in a step.
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub batch: u64,
    /// Number of steps.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub steps: u64,
    /// See [`InputArgs`].
    #[command(flatten)]
    pub input: InputArgs,
    /// Threads that libtorch computes with [default: the processors this process may use].
    #[arg(long, value_name = "N")]
    pub threads: Option<u64>,
    /// Seed of the weights and of the order of the data.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Folder with images (IDX files, the binary files of CIFAR-10 or CIFAR-100, or a folder of PNG and JPEG images for each
    /// class) or with texts, .txt or .md [default: fixtures/fashion-mnist for images, docs for texts].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Where the network runs: cpu, or cuda:0 for the first GPU.
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceName::Cpu)]
    pub device: DeviceName,
}

/// What a network reads, and how much it tells apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub struct InputArgs {
    /// Height and width of images, in pixels; they are resized to it [default: 224; of dcgan 64, of dqn 84].
    #[arg(long, value_name = "N")]
    pub image_size: Option<u64>,
    /// Length of texts, in tokens [default: what the network's paper has].
    #[arg(long, value_name = "N")]
    pub length: Option<u64>,
    /// Number of classes that the last layer tells apart; for language models, of tokens that they know [default: 1000; for
    /// language models 128].
    #[arg(long, value_name = "N")]
    pub classes: Option<u64>,
}

impl InputArgs {
    /// The size of what `model` reads: the side of images, the length of texts.
    pub fn size(&self, model: ModelName) -> u64 {
        if model.reads_text() {
            self.length.unwrap_or_else(|| model.input().size())
        } else {
            self.image_size.or(model.own_size()).unwrap_or(IMAGE_SIZE)
        }
    }

    /// The flag that sets the size of what `model` reads.
    pub fn size_flag(model: ModelName) -> &'static str {
        if model.reads_text() { "--length" } else { "--image-size" }
    }

    /// What says this size and these classes of `model`.
    pub fn of(model: ModelName, size: u64, classes: u64) -> InputArgs {
        let (image_size, length) = if model.reads_text() { (None, Some(size)) } else { (Some(size), None) };
        InputArgs { image_size, length, classes: Some(classes) }
    }

    /// The classes that its last layer tells apart.
    pub fn classes(&self, model: ModelName) -> u64 {
        self.classes.unwrap_or_else(|| model.default_classes())
    }
}

/// Height and width of images, unless the user says otherwise.
const IMAGE_SIZE: u64 = 224;

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes.
    On,
    /// No.
    Off,
}
