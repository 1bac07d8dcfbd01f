//! One run: everything is made ready, the steps are done, the timeline is written.
//!
//! ```text
//! data (read, checked) -> session starts -> init (weights) -> step, step, ... -> session ends
//!                                                              ^ a request to end is honoured between steps
//! ```
mod error;
mod progress;
mod recording;
mod turns;

mod step;

mod infer;
mod train;

use std::process::ExitCode;
use std::time::Instant;

use alloc_tracker::phase;
use anyhow::{Context, Result};
use serde_json::json;

use self::error::During;
use self::infer::Inference;
use self::progress::Progress;
use self::recording::Recording;
use self::step::Step;
use self::train::Training;
use self::turns::StepClocks;
use crate::data::{Batches, Corpus, Dataset, ImageBatches, Passages, Split, TextBatches};
use crate::model::Network;
use crate::model::shape::shapes;
use crate::settings::{Mode, Settings};
use crate::{console, exit_code, interrupt};

/// The results of the steps that were done.
#[derive(Default)]
struct StepResults {
    step_ns: Vec<u64>,
    /// One a step in training, none in inference.
    loss: Vec<f64>,
    interrupted: bool,
}

/// Does the run that `settings` describes. The exit code is 0, or 130 after Ctrl-C.
pub fn run(settings: &Settings) -> Result<ExitCode> {
    interrupt::listen()?;
    // The hooks come before libtorch's first tensor, or its storage would stay unknown.
    if settings.out.is_some() {
        alloc_torch::install().context("libtorch cannot be watched; run without tracking with --track off")?;
        alloc_torch::watch_reads(settings.reads);
    }
    tch::set_num_threads(settings.threads as i32);
    let mut batches = {
        let _phase = phase!("data");
        open_data(settings)?
    };
    let recording = Recording::start(settings)?;
    let mut work = init(settings, &recording)?;
    let results = steps(settings, work.as_mut(), &mut batches, &recording)?;
    let timeline = recording.finish(results.interrupted)?;

    let progress = Progress::lines(settings.json_times || settings.take_turns);
    if let Some(path) = timeline {
        progress.line(&format!("wrote {}", path.display()));
    }
    if let Some(step) = results.loss.iter().position(|loss| !loss.is_finite()) {
        console::print_error_line(&format!(
            "note: the loss is no finite number from step {} on; give a smaller --lr",
            step + 1
        ));
    }
    if settings.json_times {
        let object = json!({
            "step_ns": results.step_ns, "loss": results.loss, "peak_rss_bytes": peak_rss_bytes(),
        });
        console::print_result(&object.to_string())?;
    }
    if results.interrupted {
        let done = results.step_ns.len();
        console::print_error_line(&format!(
            "interrupted after step {done} of {}; what was written is whole",
            settings.steps
        ));
        return Ok(ExitCode::from(exit_code::INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

/// The data, read and checked.
fn open_data(settings: &Settings) -> Result<Batches> {
    let (model, device) = (settings.model, settings.device.into());
    let batch = settings.batch as usize;
    if let Some(texts) = model.texts(settings.classes) {
        let shapes = shapes(&model.stages(settings.classes), model.input_of(settings.size))?;
        let places = shapes.last().map_or(0, |shape| shape.places());
        let passages = Passages { batch, length: settings.size as usize, places: places as usize };
        let texts = TextBatches::new(&Corpus::open(&settings.data)?, texts, passages, settings.seed)?;
        return Ok(Batches::Texts(texts.on(device)));
    }
    let split = if settings.mode == Mode::Train { Split::Train } else { Split::Test };
    let data = Dataset::open(&settings.data, split, settings.classes)?;
    let images = ImageBatches::new(data, batch, settings.size as i64, settings.seed)
        .with_channels(model.input().features())
        .on(device);
    Ok(Batches::Images(images))
}

/// Most bytes that were ever resident, by the kernel's own account of this program. `getrusage` would not do: a process
/// inherits its figure from whoever started it.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    let kib = procfs::process::Process::myself().ok()?.status().ok()?.vmhwm?;
    Some(kib << 10)
}

/// The network, its weights drawn from the seed, and what the mode adds to it.
fn init(settings: &Settings, recording: &Recording) -> Result<Box<dyn Step>> {
    let _phase = phase!("init");
    tch::manual_seed(settings.seed as i64);
    let stages = settings.model.stages(settings.classes);
    let network = Network::init(stages, settings.device.into()).during("making the network")?;
    if recording.is_on() {
        alloc_torch::label_variables(network.store());
    }
    let network = network.with_in_place(settings.in_place).with_chained(settings.chained);
    Ok(match settings.optimizer {
        Some(optimizer) => Box::new(Training::new(network, optimizer)?),
        None => Box::new(Inference::new(network)),
    })
}

/// Step after step, until all are done or the user asks for the end.
fn steps(
    settings: &Settings,
    work: &mut dyn Step,
    batches: &mut Batches,
    recording: &Recording,
) -> Result<StepResults> {
    let progress = Progress::new(settings.steps, settings.json_times || settings.take_turns);
    let mut results = StepResults::default();
    for step in 1..=settings.steps {
        if interrupt::requested() {
            results.interrupted = true;
            break;
        }
        if settings.take_turns && !turns::wait_for_turn()? {
            break;
        }
        recording.begin_step();
        let clocks = StepClocks::start();
        let began = Instant::now();
        let loss = work.step(batches, recording).with_context(|| format!("step {step}"))?;
        // A device may still be computing; the step is over when it is done.
        settings.device.synchronize();
        let took = began.elapsed();
        recording.end_step();
        results.step_ns.push(took.as_nanos() as u64);
        results.loss.extend(loss);
        if settings.take_turns {
            clocks.report()?;
        }
        let loss = loss.map_or_else(String::new, |loss| format!("  loss {loss:.4}"));
        progress.step(&format!("step {step}/{}  {:.3} s{loss}", settings.steps, took.as_secs_f64()));
    }
    Ok(results)
}
