//! What can be typed. Only the form is checked here; `check` decides whether a run can do it.
mod optimizer;
mod typed;
mod variations;
mod work;

mod models;

mod advise;
mod conv;
mod limits;
mod reproduce;
mod runs;
mod sweeps;
mod tables;

use clap::{Parser, Subcommand};

pub use self::advise::AdviseArgs;
pub use self::conv::{ConvBenchArgs, ConvRunArgs};
pub use self::limits::{FitArgs, RunLimitedArgs};
pub use self::models::Models;
pub use self::reproduce::ReproduceArgs;
pub use self::runs::{CompareArgs, ModelsArgs, PlanArgs, RunArgs, TrainArgs};
pub use self::sweeps::{Axes, Common, Count, Size, SweepArgs};
pub use self::tables::{FitTableArgs, TablesArgs};
pub(crate) use self::typed::{nearest, one};
pub use self::variations::VariationArgs;
pub use self::work::{InputArgs, Switch, WorkArgs};
pub(crate) use self::work::{LARGEST_INPUT, MOST_CLASSES, MOST_INPUTS, MOST_STEPS, MOST_THREADS};

/// Trains and runs networks on libtorch and records who owns the memory.
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
    /// Print the networks: parameters, what an image or text leaves for the backward pass, and where each was published.
    Models(ModelsArgs),
    /// Print what the layers' shapes say of a training step's memory, without running it.
    Plan(PlanArgs),
    /// Run any command with a limit of memory, and say what the limit did to it.
    RunLimited(RunLimitedArgs),
    /// Say whether a training run fits into a budget of memory, and the largest batch that does.
    Fit(FitArgs),
    /// Print the largest batch of each network in each of several budgets, from the layers' shapes.
    FitTable(FitTableArgs),
    /// Say what to change first so that a training step takes less memory: every change is run beside the step as it is.
    Advise(AdviseArgs),
    /// Print the memory of training steps: as published, as planned and, on request, as measured.
    Tables(TablesArgs),
    /// Run every combination of models, batches, image sizes, optimizers, precisions, allocators, threads and modes, each
    /// several times, and write tables and a page of plots. Continues what was interrupted.
    Sweep(SweepArgs),
    /// Measure one convolution: time and memory against the kernel's size, in inference and in training.
    ConvBench(ConvBenchArgs),
    /// Measure what the seed documents measured, and write a page for each of their experiments. Continues what was
    /// interrupted.
    Reproduce(ReproduceArgs),
    /// One run of `conv-bench`.
    #[command(hide = true)]
    ConvRun(ConvRunArgs),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;
    use crate::model::ModelName;
    use crate::optimizer::OptimizerName;
    use crate::settings::Mode;

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
        assert_eq!((args.run.work.batch, args.run.work.steps, args.run.work.input.size(args.run.model)), (32, 5, 224));
        let optimizer = args.optimizer.of(args.run.model);
        assert_eq!((optimizer.name, optimizer.lr(), optimizer.momentum()), (OptimizerName::Sgd, 0.01, Some(0.9)));
        assert_eq!(args.run.track, Switch::On);
    }

    #[test]
    fn compare_takes_lists() {
        let cli = Cli::parse_from(["trainer", "compare", "--models", "resnet18", "--modes", "infer,train"]);
        let Task::Compare(args) = cli.task else { panic!("compare is the Compare task") };
        assert_eq!(args.models, [ModelName::ResNet18]);
        assert_eq!(args.modes, [Mode::Infer, Mode::Train]);
    }

    #[test]
    fn limits_are_sizes_or_none() {
        let cli = Cli::parse_from(["trainer", "run-limited", "--memory", "none,1G,512MB", "--", "true", "--memory"]);
        let Task::RunLimited(args) = cli.task else { panic!("run-limited is the RunLimited task") };
        assert_eq!(args.memory, [Limit(None), Limit(Some(1 << 30)), Limit(Some(512_000_000))]);
        assert_eq!(args.command, ["true", "--memory"], "what stands behind -- is the command's own");
        let problem = Cli::try_parse_from(["trainer", "run-limited", "--memory", "much", "--", "true"]).unwrap_err();
        assert!(problem.to_string().contains("or none for no limit"), "{problem}");
    }
}
