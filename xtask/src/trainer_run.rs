//! One run of the trainer, as the demo, the gate and the benchmark ask for it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::child::Programs;
use crate::workspace::Workspace;

/// The two models of the study.
pub const MODELS: [&str; 2] = ["mobilenet_v1", "resnet18"];

/// The slice of Fashion-MNIST. Paths are relative to the root, so that no machine's paths get into a timeline.
const DATA: &str = "fixtures/fashion-mnist";

/// What the trainer is asked to do.
#[derive(Debug, Clone)]
pub struct TrainerRun<'a> {
    /// `train` or `infer`.
    pub mode: &'a str,
    /// `mobilenet_v1` or `resnet18`.
    pub model: &'a str,
    /// Images a step.
    pub batch: u32,
    /// Steps.
    pub steps: u32,
    /// Side of the square image in pixels.
    pub image_size: u32,
    /// Threads of libtorch.
    pub threads: usize,
    /// Where the timeline goes.
    pub out: PathBuf,
}

impl TrainerRun<'_> {
    /// The command line.
    pub fn command(&self, programs: &Programs, workspace: &Workspace) -> Result<Command> {
        Ok(self.of(programs.command(workspace, "trainer")?))
    }

    /// The same run by another build of the trainer.
    pub fn of(&self, mut command: Command) -> Command {
        command.args([self.mode, "--model", self.model, "--seed", "1", "--data", DATA]);
        command.args(["--batch", &self.batch.to_string(), "--steps", &self.steps.to_string()]);
        command.args(["--image-size", &self.image_size.to_string(), "--threads", &self.threads.to_string()]);
        command.arg("--out").arg(&self.out);
        command
    }
}

/// The threads of the demo: one number for all machines with at least two cores, so that their runs can be compared.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get().min(2))
}
