//! One run: everything is made ready, the steps are done, the timeline is written.
//!
//! ```text
//! data (read, judged) -> session starts -> init (weights) -> step, step, ... -> session ends
//!                                                             ^ Ctrl-C is looked at between steps
//! ```
mod error;
mod infer;
pub(crate) mod interrupt;
mod progress;
mod recording;
mod train;
mod turn;

use std::process::ExitCode;
use std::time::Instant;

use alloc_tracker::phase;
use anyhow::{Context, Result};
use serde_json::json;

use self::error::During;
use self::infer::Inference;
use self::progress::Progress;
use self::recording::Recording;
use self::train::Training;
use self::turn::Clocks;
use crate::check::Settings;
use crate::data::{Batches, Dataset, Part};
use crate::model::Network;
use crate::say;

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

/// What came of the steps that were done.
#[derive(Default)]
struct Outcome {
    step_ns: Vec<u64>,
    /// One a step in training, none in inference.
    loss: Vec<f64>,
    interrupted: bool,
}

/// What a step does; makes its own batch, so that the data phase is part of the step. Returns the loss if it has one.
trait Step {
    fn step(&mut self, batches: &mut Batches, recording: &Recording) -> Result<Option<f64>>;
}

/// Does the run that `settings` describes. The exit code is 0, or 130 after Ctrl-C.
pub fn run(settings: &Settings) -> Result<ExitCode> {
    interrupt::watch()?;
    // The hooks come before libtorch's first tensor, or its storage would stay unknown.
    if settings.out.is_some() {
        alloc_torch::install().context("libtorch cannot be watched; run without tracking with --track off")?;
    }
    tch::set_num_threads(settings.threads as i32);
    let mut batches = {
        let _phase = phase!("data");
        let part = if settings.mode == Mode::Train { Part::Train } else { Part::Test };
        let data = Dataset::open(&settings.data, part, settings.classes)?;
        Batches::new(data, settings.batch as usize, settings.image_size as i64, settings.seed)
    };
    let recording = Recording::start(settings)?;
    let mut work = init(settings, &recording)?;
    let outcome = steps(settings, work.as_mut(), &mut batches, &recording)?;
    let timeline = recording.finish(outcome.interrupted)?;

    let progress = Progress::lines(settings.json_times || settings.take_turns);
    if let Some(path) = timeline {
        progress.line(&format!("wrote {}", path.display()));
    }
    if let Some(step) = outcome.loss.iter().position(|loss| !loss.is_finite()) {
        say::err(&format!("note: the loss is no finite number from step {} on; give a smaller --lr", step + 1));
    }
    if settings.json_times {
        say::result(&json!({ "step_ns": outcome.step_ns, "loss": outcome.loss }).to_string())?;
    }
    if outcome.interrupted {
        let done = outcome.step_ns.len();
        say::err(&format!("interrupted after step {done} of {}; what was written is whole", settings.steps));
        return Ok(ExitCode::from(crate::INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

/// The network, its weights drawn from the seed, and what the mode adds to it.
fn init(settings: &Settings, recording: &Recording) -> Result<Box<dyn Step>> {
    let _phase = phase!("init");
    tch::manual_seed(settings.seed as i64);
    let network = Network::init(settings.model.stages(settings.classes)).during("making the network")?;
    if recording.is_on() {
        alloc_torch::label_variables(network.store());
    }
    Ok(match settings.sgd {
        Some(sgd) => Box::new(Training::new(network, sgd)?),
        None => Box::new(Inference::new(network)),
    })
}

/// Step after step, until all are done or the user asks for the end.
fn steps(settings: &Settings, work: &mut dyn Step, batches: &mut Batches, recording: &Recording) -> Result<Outcome> {
    let progress = Progress::new(settings.steps, settings.json_times || settings.take_turns);
    let mut outcome = Outcome::default();
    for step in 1..=settings.steps {
        if interrupt::asked() {
            outcome.interrupted = true;
            break;
        }
        if settings.take_turns && !turn::wait()? {
            break;
        }
        recording.begin_step();
        let clocks = Clocks::start();
        let began = Instant::now();
        let loss = work.step(batches, recording).with_context(|| format!("step {step}"))?;
        let took = began.elapsed();
        recording.end_step();
        outcome.step_ns.push(took.as_nanos() as u64);
        outcome.loss.extend(loss);
        if settings.take_turns {
            clocks.over()?;
        }
        let loss = loss.map_or_else(String::new, |loss| format!("  loss {loss:.4}"));
        progress.step(&format!("step {step}/{}  {:.3} s{loss}", settings.steps, took.as_secs_f64()));
    }
    Ok(outcome)
}
