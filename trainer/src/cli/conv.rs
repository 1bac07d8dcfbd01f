//! What can be typed behind `conv-bench`.
use std::path::PathBuf;

use clap::Args;

use super::sweeps::Count;
use super::work::{LARGEST_INPUT, MOST_INPUTS, MOST_STEPS, MOST_THREADS};
use crate::settings::Mode;

/// One convolution with the same number of channels in and out, kernel by kernel.
#[derive(Clone, Debug, Args)]
pub struct ConvBenchArgs {
    /// Sizes of the kernel, separated by commas; odd ones, so that the image keeps its size.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,3,5,7,9,11")]
    pub kernels: Vec<Count<101>>,
    /// Images in a step of inference.
    #[arg(long, value_name = "N", default_value = "4", default_value_if("quick", "true", "1"))]
    pub infer_batch: Count<MOST_INPUTS>,
    /// Images in a step of training.
    #[arg(long, value_name = "N", default_value = "32", default_value_if("quick", "true", "4"))]
    pub train_batch: Count<MOST_INPUTS>,
    /// Channels in and out.
    #[arg(long, value_name = "N", default_value = "32")]
    pub channels: Count<4096>,
    /// Height and width of the images in pixels.
    #[arg(long, value_name = "N", default_value = "256", default_value_if("quick", "true", "64"))]
    pub image_size: Count<LARGEST_INPUT>,
    /// Steps of each run; the first warms up.
    #[arg(long, value_name = "N", default_value = "6")]
    pub steps: Count<MOST_STEPS>,
    /// How often each kernel runs, each time in a process of its own.
    #[arg(long, value_name = "N", default_value = "3")]
    pub repeat: Count<1000>,
    /// Threads that libtorch computes with [default: the processors this process may use].
    #[arg(long, value_name = "N")]
    pub threads: Option<Count<MOST_THREADS>>,
    /// Seed of the numbers, and of the order of the runs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Smaller images and batches, for a first look: 64 pixels, batch 1 and 4.
    #[arg(long)]
    pub quick: bool,
    /// Print one JSON object with each run instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Folder for conv.csv and the pictures; it is made.
    #[arg(long, value_name = "DIR", default_value = "conv-bench")]
    pub out: PathBuf,
}

/// One run.
#[derive(Clone, Debug, Args)]
pub struct ConvRunArgs {
    /// Size of the kernel.
    #[arg(long)]
    pub kernel: u64,
    /// Forward alone, or forward and backward.
    #[arg(long, value_enum)]
    pub mode: Mode,
    /// Images in a step.
    #[arg(long)]
    pub batch: u64,
    /// Channels in and out.
    #[arg(long)]
    pub channels: u64,
    /// Height and width of the images.
    #[arg(long)]
    pub image_size: u64,
    /// Number of steps.
    #[arg(long)]
    pub steps: u64,
    /// Threads that libtorch computes with.
    #[arg(long)]
    pub threads: u64,
    /// Seed of the numbers.
    #[arg(long)]
    pub seed: u64,
    /// Timeline to write.
    #[arg(long)]
    pub out: PathBuf,
}
