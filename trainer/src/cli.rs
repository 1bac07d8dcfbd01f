//! What can be typed. Only the form is checked here; `check` decides whether a run can do it.
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::model::ModelName;
use crate::settings::{Mode, Sgd};

/// Trains and runs convolutional networks on libtorch and records who owns the memory.
#[derive(Debug, Parser)]
#[command(name = "trainer", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub task: Task,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Train for a number of steps and write a timeline.
    Train(TrainArgs),
    /// Run the forward pass only, without gradients, and write a timeline.
    Infer(RunArgs),
    /// Do several runs, each in a process of its own, and print them side by side.
    Compare(CompareArgs),
    /// Print what the layers' shapes say of a training step's memory, without running it.
    Plan(PlanArgs),
}

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
}

/// One run.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// The network.
    #[arg(long, value_enum)]
    pub model: ModelName,
    /// See [`WorkArgs`].
    #[command(flatten)]
    pub work: WorkArgs,
    /// Timeline to write [default: MODEL-MODE.timeline.json].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Whether the allocator tracks; `off` runs the same binary without, and writes no timeline.
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub track: Switch,
    /// Print one line of JSON on stdout, {"step_ns": [...], "loss": [...]}, and all else on stderr.
    #[arg(long)]
    pub json_times: bool,
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
    /// See [`Sgd`].
    #[command(flatten)]
    pub sgd: Sgd,
}

/// Several runs.
#[derive(Clone, Debug, Args)]
pub struct CompareArgs {
    /// The networks, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = ModelName::ALL)]
    pub models: Vec<ModelName>,
    /// Training, inference or both, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Mode::Train, Mode::Infer])]
    pub modes: Vec<Mode>,
    /// See [`WorkArgs`].
    #[command(flatten)]
    pub work: WorkArgs,
    /// See [`Sgd`]; used where the mode is training.
    #[command(flatten)]
    pub sgd: Sgd,
    /// Folder for the timelines, MODEL-MODE.timeline.json each.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
}

/// What to plan.
#[derive(Clone, Debug, Args)]
pub struct PlanArgs {
    /// The network.
    #[arg(long, value_enum)]
    pub model: ModelName,
    /// Images in a step.
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub batch: u64,
    /// Height and width of the images, in pixels.
    #[arg(long, value_name = "N", default_value_t = 224)]
    pub image_size: u64,
    /// Number of classes that the last layer tells apart.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub classes: u64,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes.
    On,
    /// No.
    Off,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// clap's own check of the definitions above: names that clash, defaults that do not parse.
    #[test]
    fn definitions_hold() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn a_training_run_needs_only_a_model() {
        let cli = Cli::parse_from(["trainer", "train", "--model", "resnet18"]);
        let Task::Train(args) = cli.task else { panic!("train is the Train task") };
        assert_eq!((args.run.work.batch, args.run.work.steps, args.run.work.image_size), (32, 5, 224));
        assert_eq!(args.sgd, Sgd { lr: 0.01, momentum: 0.9 });
        assert_eq!(args.run.track, Switch::On);
    }

    #[test]
    fn compare_takes_lists() {
        let cli = Cli::parse_from(["trainer", "compare", "--models", "resnet18", "--modes", "infer,train"]);
        let Task::Compare(args) = cli.task else { panic!("compare is the Compare task") };
        assert_eq!(args.models, [ModelName::ResNet18]);
        assert_eq!(args.modes, [Mode::Infer, Mode::Train]);
    }
}
