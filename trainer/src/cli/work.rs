//! Size and origin of the work: what every command that runs a network can be told.
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::device::DeviceName;

/// Upper bounds, so that every product of sizes stays far below 2^63.
pub(crate) const MOST_IMAGES: u64 = 1_000_000;
pub(crate) const LARGEST_IMAGE: u64 = 8_192;
pub(crate) const MOST_CLASSES: u64 = 1_000_000;
pub(crate) const MOST_STEPS: u64 = 1_000_000_000;
pub(crate) const MOST_THREADS: u64 = 4_096;

/// Size and origin of the work; the same for every kind of run.
#[derive(Clone, Debug, Args)]
pub struct WorkArgs {
    /// Images in a step.
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub batch: u64,
    /// Number of steps.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub steps: u64,
    /// Height and width that images are resized to, in pixels.
    #[arg(long, value_name = "N", default_value_t = 224)]
    pub image_size: u64,
    /// Threads that libtorch computes with [default: the processors this process may use].
    #[arg(long, value_name = "N")]
    pub threads: Option<u64>,
    /// Seed of the weights and of the order of the images.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Folder with the images and labels as IDX files [default: fixtures/fashion-mnist].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Number of classes that the last layer tells apart.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub classes: u64,
    /// Where the network runs: cpu, or cuda:0 for the first GPU.
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceName::Cpu)]
    pub device: DeviceName,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes.
    On,
    /// No.
    Off,
}
