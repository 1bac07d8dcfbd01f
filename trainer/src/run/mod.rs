//! One run: everything is made ready, the steps are done, the timeline is written.
//!
//! ```text
//! data (read, checked) -> session starts -> init (weights) -> step, step, ... -> session ends
//!                                                              ^ a request to end is honoured between steps
//! ```
//!
//! What a step does depends on what is learned and on the mode: `train` and `infer` are for networks that tell classes apart,
//! `dcgan` and `dqn` for the two that learn in another way. `work` makes the one that the settings ask for.
mod autocast;
mod backward;
mod error;
mod progress;
mod recording;
mod turns;

mod step;

mod lessons;
mod loss_scale;
mod parts;

mod checkpointed;
mod dcgan;
mod dqn;
mod infer;
mod train;

mod work;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use alloc_tracker::phase;
use anyhow::{Context, Result};
use serde_json::json;

use self::progress::Progress;
use self::recording::Recording;
use self::step::Step;
use self::turns::StepClocks;
use crate::checkpoint::{self, Asked, Case, Kept, Prepared};
use crate::data::{Batches, Corpus, Dataset, ImageBatches, Passages, Split, TextBatches};
use crate::device::DeviceName;
use crate::model::shape::shapes;
use crate::model::{Objective, dcgan as dcgan_model};
use crate::settings::{Mode, Settings};
use crate::{console, exit_code, interrupt};

/// The results of the steps that were done.
#[derive(Default)]
struct StepResults {
    step_ns: Vec<u64>,
    /// What the steps said of themselves, by name: one number a step.
    figures: BTreeMap<&'static str, Vec<f64>>,
    /// Shares of the held-out images that were told right, each time that was measured.
    accuracy: Vec<f64>,
    interrupted: bool,
}

impl StepResults {
    /// How long each step computed parts again.
    fn recompute_ns(&self) -> Vec<u64> {
        let seconds = self.figures.get(checkpointed::RECOMPUTE);
        seconds.into_iter().flatten().map(|seconds| (seconds * 1e9) as u64).collect()
    }
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
    let batches = {
        let _phase = phase!("data");
        settings.data.as_deref().map(|folder| open_data(folder, settings)).transpose()?
    };
    let progress = Progress::lines(settings.json_times || settings.take_turns);
    let images = batches.as_ref().and_then(Batches::images);
    let described = match (&settings.data, images) {
        (_, Some(images)) => images.description(),
        (Some(folder), None) => format!("{}: texts", folder.display()),
        (None, None) => settings.model.objective().own_data().to_owned(),
    };
    progress.line(&format!("data: {described}"));
    if settings.device == DeviceName::Cpu && settings.precision.is_slow_here() {
        console::print_error_line(&format!(
            "note: this processor has no AVX-512, without which libtorch computes far more slowly in {} than in fp32 (docs/PRECISION.md)",
            settings.precision
        ));
    }
    let plan = settings.checkpoint.as_ref().map(|asked| prepare(settings, asked)).transpose()?;
    plan.iter().flat_map(Prepared::told).for_each(|line| progress.line(&line));
    let recording = Recording::start(settings, images)?;
    let work = {
        let _phase = phase!("init");
        tch::manual_seed(settings.seed as i64);
        work::work(settings, batches, plan.clone(), &recording)
    };
    // The network lives until the recording has ended.
    let stepped = work.and_then(|mut work| Ok((steps(settings, work.as_mut(), &recording)?, work)));
    let (results, _work) = match stepped {
        Ok(stepped) => stepped,
        Err(error) => {
            recording.leave_to_the_end();
            return Err(error);
        }
    };
    let timeline = recording.finish(results.interrupted)?;

    if let Some(path) = &timeline {
        progress.line(&format!("wrote {}", path.display()));
    }
    let kept = match (&plan, &timeline) {
        (Some(plan), Some(path)) => plan.kept(&alloc_timeline::load(path)?, &results.recompute_ns()),
        _ => None,
    };
    kept.iter().flat_map(Kept::lines).for_each(|line| progress.line(&line));
    if kept.is_none() && plan.as_ref().is_some_and(|plan| plan.has_budget()) {
        console::print_error_line(
            "note: whether the budget was kept is not known: that takes a second step, and the tracker",
        );
    }
    for (name, values) in &results.figures {
        if let Some(step) = values.iter().position(|value| !value.is_finite()) {
            console::print_error_line(&format!(
                "note: the {} is no finite number from step {} on; give a smaller --lr",
                words(name),
                step + 1
            ));
        }
    }
    if settings.json_times {
        let mut object = json!({
            "step_ns": results.step_ns, "loss": [], "peak_rss_bytes": peak_rss_bytes(),
        });
        for (name, values) in &results.figures {
            object[*name] = json!(values);
        }
        if !results.accuracy.is_empty() {
            object["accuracy"] = json!(results.accuracy);
        }
        if let Some(kept) = &kept {
            object["checkpoint"] = json!(kept);
        }
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
    if let Some(over) = kept.and_then(|kept| kept.left_bytes).filter(|&left| left < 0) {
        console::print_error_line(&format!("error: the run took {} B more than its budget", -over));
        return Ok(ExitCode::from(exit_code::FAILED));
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures the parts of the network and makes the plan.
fn prepare(settings: &Settings, asked: &Asked) -> Result<Prepared> {
    let &Settings { model, batch, size, classes, device, in_place, .. } = settings;
    let optimizer = settings.optimizer.context("the checks let a run through that has a plan and no optimizer")?;
    let case = Case { model, batch, size, classes, device, optimizer, in_place };
    checkpoint::prepare(asked, &case, settings.out.is_some())
}

/// The data in `folder`, read and checked.
fn open_data(folder: &Path, settings: &Settings) -> Result<Batches> {
    let (model, device) = (settings.model, settings.device.into());
    let batch = settings.inputs_at_once() as usize;
    if let Some(texts) = model.texts(settings.classes) {
        let shapes = shapes(&model.stages(settings.classes), model.input_of(settings.size))?;
        let places = shapes.last().map_or(0, |shape| shape.places());
        let passages = Passages { batch, length: settings.size as usize, places: places as usize };
        let texts = TextBatches::new(&Corpus::open(folder)?, texts, passages, settings.seed)?;
        return Ok(Batches::Texts(texts.on(device)));
    }
    let split = if settings.mode == Mode::Train { Split::Train } else { Split::Test };
    let is_adversarial = model.objective() == Objective::Adversarial;
    // What is told apart there is real from made, whatever the labels are.
    let classes = if is_adversarial { u64::from(u32::MAX) + 1 } else { settings.classes };
    let mut data = Dataset::open(folder, split, classes)?;
    let mut channels = model.input().features();
    if is_adversarial {
        // A generator's last operator is a tanh, so real images have its range.
        (data, channels) = (data.between_minus_one_and_one(), dcgan_model::CHANNELS);
    }
    let images = ImageBatches::new(data, batch, settings.size as i64, settings.seed).with_channels(channels).on(device);
    match settings.variation.dealt {
        // What is dealt out may be any of them.
        Some(dealt) => {
            dealt.check(images.data().len())?;
            images.check(u64::MAX)?;
        }
        None => images.check(settings.steps.saturating_mul(settings.variation.accumulate))?,
    }
    Ok(Batches::Images(images))
}

/// Most bytes that were ever resident, by the kernel's own account of this program. `getrusage` would not do: a process
/// inherits its figure from whoever started it.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    let kib = procfs::process::Process::myself().ok()?.status().ok()?.vmhwm?;
    Some(kib << 10)
}

/// The name of a figure as it is printed: `generator loss`.
fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// Step after step, until all are done or the user asks for the end.
fn steps(settings: &Settings, work: &mut dyn Step, recording: &Recording) -> Result<StepResults> {
    let progress = Progress::new(settings.steps, settings.json_times || settings.take_turns);
    let mut results = StepResults::default();
    let between = |work: &mut dyn Step, done| {
        let accuracy = work.between(done).with_context(|| format!("behind step {done}"))?;
        if let Some(accuracy) = accuracy {
            progress.line(&format!("accuracy after {done} steps: {:.2} % of the held-out images", accuracy * 100.0));
        }
        Ok::<Option<f64>, anyhow::Error>(accuracy)
    };
    results.accuracy.extend(between(work, 0)?);
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
        let figures = work.step(recording).with_context(|| format!("step {step}"))?;
        // A device may still be computing; the step is over when it is done.
        settings.device.synchronize();
        let took = began.elapsed();
        recording.end_step();
        results.step_ns.push(took.as_nanos() as u64);
        let mut line = format!("step {step}/{}  {:.3} s", settings.steps, took.as_secs_f64());
        for (name, value) in figures {
            line.push_str(&format!("  {} {value:.4}", words(name)));
            results.figures.entry(name).or_default().push(value);
        }
        if settings.take_turns {
            clocks.report()?;
        }
        progress.step(&line);
        results.accuracy.extend(between(work, step)?);
    }
    Ok(results)
}
