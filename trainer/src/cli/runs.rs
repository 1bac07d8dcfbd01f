//! What can be typed behind `train`, `infer`, `compare` and `plan`.
use std::path::PathBuf;

use clap::Args;

use super::optimizer::OptimizerArgs;
use super::variations::VariationArgs;
use super::work::{InputArgs, Switch, WorkArgs};
use crate::allocator::Spec;
use crate::checkpoint::Asked;
use crate::model::{Chained, ModelName, TrainOnly};
use crate::optimizer::Optimizer;
use crate::precision::Precision;
use crate::settings::Mode;

/// One run.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// The network.
    #[arg(long, value_enum)]
    pub model: ModelName,
    /// See [`WorkArgs`].
    #[command(flatten)]
    pub work: WorkArgs,
    /// The numbers that the network computes in: fp32; or bf16 or fp16, for libtorch's autocast, under which convolutions, linear
    /// layers and matrix products compute in bfloat16 or in IEEE 754's 16 bits, and parameters, gradients and the optimizer stay in
    /// fp32. In fp16 the loss is scaled, as PyTorch's GradScaler does; --json-times then has "loss_scale".
    #[arg(long, value_name = "PRECISION", default_value_t = Precision::Fp32)]
    pub precision: Precision,
    /// Timeline to write [default: MODEL-MODE.timeline.json].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Whether the allocator tracks; `off` runs the same binary without, and writes no timeline.
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub track: Switch,
    /// Write the forward pass as chained expressions, which hold every map to their ends, and not step by step: one for
    /// all of it, or with `=units` one for each convolution with its batch norm and ReLU.
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "whole")]
    pub chained: Option<Chained>,
    /// Whether ReLU and the sums of residual blocks write over the map that they read; `off` has each make a new one.
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub in_place: Switch,
    /// Whether the timeline says which bytes of the peak nobody reads again.
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub reads: Switch,
    /// Moves that dqn's replay buffer has room for [default: 10000].
    #[arg(long, value_name = "N")]
    pub replay: Option<u64>,
    /// Print one line of JSON on stdout, {"step_ns": [...], "loss": [...], "peak_rss_bytes": N}, and all else on stderr.
    /// dcgan has "discriminator_loss" and "generator_loss" in place of "loss", dqn "reward" as well.
    #[arg(long)]
    pub json_times: bool,
    /// Whether each phase, layer and operator is timed, step by step, as with ALLOC_TRACKER_TIMES=on.
    #[arg(long, value_enum, num_args = 0..=1, default_value_t = Switch::On, default_missing_value = "on")]
    pub layer_times: Switch,
    /// Wait for a line on stdin before each step, and answer it on stdout with the nanoseconds the step took, on the
    /// wall clock and of CPU time: several runs can then take turns, step by step. All else goes to stderr.
    #[arg(long, conflicts_with = "json_times")]
    pub take_turns: bool,
}

/// One training run.
#[derive(Clone, Debug, Args)]
pub struct TrainArgs {
    /// See [`RunArgs`].
    #[command(flatten)]
    pub run: RunArgs,
    /// See [`OptimizerArgs`].
    #[command(flatten)]
    pub optimizer: OptimizerArgs,
    /// Keep only some maps and compute the others again: none, sequential:SEGMENTS (sequential alone looks for the best number),
    /// revolve:SLOTS, or bytes:SIZE for the fastest step whose peak is at most so large. What each part of the network takes
    /// is measured first.
    #[arg(long, value_name = "PLAN")]
    pub checkpoint: Option<Asked>,
    /// The most that may be live at once in a step, as the tracker counts it: the same as --checkpoint bytes:SIZE. The run says
    /// how much it left, and fails when it took more.
    #[arg(long, value_name = "SIZE", value_parser = Asked::within, conflicts_with = "checkpoint")]
    pub budget: Option<Asked>,
    /// See [`VariationArgs`].
    #[command(flatten)]
    pub variation: VariationArgs,
}

/// Several runs.
#[derive(Clone, Debug, Args)]
pub struct CompareArgs {
    /// The networks, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = ModelName::DEMO)]
    pub models: Vec<ModelName>,
    /// Training, inference or both, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Mode::Train, Mode::Infer])]
    pub modes: Vec<Mode>,
    /// See [`WorkArgs`].
    #[command(flatten)]
    pub work: WorkArgs,
    /// See [`Optimizer`]; used where the mode is training.
    #[command(flatten)]
    pub optimizer: Optimizer,
    /// Folder for the timelines, MODEL-MODE.timeline.json each; with --allocator, MODEL-MODE-ALLOCATOR.timeline.json.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// Compare allocators, separated by commas: jemalloc, glibc, mimalloc, each with settings of its own behind it, as
    /// in jemalloc:dirty_decay_ms:0+muzzy_decay_ms:0.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub allocator: Vec<Spec>,
    /// How often each allocator runs; the allocators take turns.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..), requires = "allocator")]
    pub repeat: u64,
    /// Print one JSON object instead of a table.
    #[arg(long, requires = "allocator")]
    pub json: bool,
}

/// How to print the networks.
#[derive(Clone, Debug, Args)]
pub struct ModelsArgs {
    /// Print one JSON array instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// What to plan.
#[derive(Clone, Debug, Args)]
pub struct PlanArgs {
    /// The network.
    #[arg(long, value_enum)]
    pub model: ModelName,
    /// Images or texts in a step.
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub batch: u64,
    /// See [`InputArgs`].
    #[command(flatten)]
    pub input: InputArgs,
    /// Its state is part of the plan.
    #[command(flatten)]
    pub optimizer: OptimizerArgs,
    /// The numbers that the network computes in; the shapes' rules are those of fp32 alone.
    #[arg(long, value_name = "PRECISION", default_value_t = Precision::Fp32)]
    pub precision: Precision,
    /// The timeline of a training run of this very step: puts the predicted peak beside the measured one.
    #[arg(long, value_name = "TIMELINE")]
    pub measured: Option<PathBuf>,
    /// Run the network part by part to measure it, draw the schedule of this plan of `train --checkpoint`, and print what all
    /// other plans would take.
    #[arg(long, value_name = "PLAN", conflicts_with = "measured")]
    pub checkpoint: Option<Asked>,
    /// Threads that libtorch computes with for --checkpoint [default: the processors this process may use].
    #[arg(long, value_name = "N", requires = "checkpoint")]
    pub threads: Option<u64>,
    /// Say what each layer keeps for its backward pass, by which rule, and where libtorch has it written.
    #[arg(long, conflicts_with_all = ["measured", "checkpoint"])]
    pub rules: bool,
    /// Put a step that changes only this part of the network, as `train --train-only` has it, beside one that changes all of it:
    /// which saved bytes go, which stay, and who holds them.
    #[arg(long, value_name = "PART", conflicts_with_all = ["measured", "checkpoint", "rules"])]
    pub train_only: Option<TrainOnly>,
    /// Seed of the run, which decides what layers:SHARE draws.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "train_only")]
    pub seed: u64,
    /// Number of the step for which it draws, from 1 on.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "train_only", value_parser = clap::value_parser!(u64).range(1..))]
    pub step: u64,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}
