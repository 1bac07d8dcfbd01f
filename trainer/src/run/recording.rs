//! The session of a run, or none when tracking is off. The steps call it in the same way in both cases.
use std::path::PathBuf;

use alloc_timeline::Category;
use alloc_tracker::{Fact, Session, Times, hooks};
use anyhow::{Context, Result};
use tch::Tensor;
use tch::nn::VarStore;

use crate::console;
use crate::data::{Dataset, Dealt};
use crate::model::{Chained, TrainOnly};
use crate::settings::{Layout, Settings, Variation};

/// The facts of a run that differs from others.
fn varied(variation: &Variation) -> Vec<(&'static str, Fact)> {
    let mut facts: Vec<(&'static str, Fact)> = Vec::new();
    if variation.only != TrainOnly::All {
        facts.push(("train_only", variation.only.to_string().into()));
    }
    if variation.accumulate > 1 {
        facts.push(("accumulate", variation.accumulate.into()));
    }
    facts.extend(variation.activation.map(|activation| ("activation", activation.as_str().into())));
    if variation.layout != Layout::ChannelsFirst {
        facts.push(("layout", variation.layout.as_str().into()));
    }
    if let Some(Dealt { held_out, skipped, days, a_day }) = variation.dealt {
        facts.extend([("held_out", held_out.into()), ("skipped_images", skipped.into()), ("days", days.into())]);
        facts.push(("increment", variation.increment.as_str().into()));
        facts.extend(a_day.map(|images| ("images_a_day", images.into())));
    }
    if let Some(path) = &variation.weights {
        facts.push(("weights", path.display().to_string().into()));
    }
    facts
}

/// A session, or none when tracking is off.
pub(super) struct Recording(Option<Session>);

impl Recording {
    /// Starts a session that writes the timeline of `settings`, with the facts about the run; none without a timeline.
    pub(super) fn start(settings: &Settings, images: Option<&Dataset>) -> Result<Recording> {
        let Some(out) = &settings.out else { return Ok(Recording(None)) };
        let stages = settings.model.stages(settings.classes);
        let mut builder = Session::builder()
            .output(out)
            .fact("model", settings.model.as_str())
            .fact("mode", settings.mode.as_str())
            .fact("batch", settings.batch)
            .fact(if settings.model.reads_text() { "length" } else { "image_size" }, settings.size)
            .fact("steps", settings.steps)
            .fact("threads", settings.threads)
            .fact("seed", settings.seed)
            .fact("classes", settings.classes)
            .fact("device", settings.device.to_string())
            .fact("precision", settings.precision.as_str())
            .fact("parameters", stages.iter().map(|stage| stage.op.parameters()).sum::<u64>());
        let data = settings.data.as_ref().map(|folder| folder.display().to_string());
        builder = builder.fact("data", data.unwrap_or_else(|| settings.model.objective().own_data().to_owned()));
        if let Some(images) = images {
            builder = builder.fact("data_format", images.source().as_str()).fact("data_images", images.len() as u64);
        }
        if let Some(places) = settings.replay {
            builder = builder.fact("replay", places);
        }
        match settings.chained {
            None => {}
            Some(Chained::Whole) => builder = builder.fact("chained", true),
            Some(Chained::Units) => builder = builder.fact("chained", "units"),
        }
        if !settings.in_place {
            builder = builder.fact("in_place", false);
        }
        if let Some(optimizer) = settings.optimizer {
            builder = builder.fact("optimizer", optimizer.name.as_str()).fact("lr", optimizer.lr());
            if let Some(momentum) = optimizer.momentum() {
                builder = builder.fact("momentum", momentum);
            }
            if let Some(beta1) = optimizer.beta1 {
                builder = builder.fact("beta1", beta1);
            }
        }
        if let Some(plan) = &settings.checkpoint {
            builder = builder.fact("checkpoint", plan.to_string());
        }
        for (name, value) in varied(&settings.variation) {
            builder = builder.fact(name, value);
        }
        if settings.layer_times {
            builder = builder.times(Times::ByScope);
        }
        let session = builder.start().with_context(|| format!("{}: cannot be recorded", out.display()))?;
        Ok(Recording(Some(session)))
    }

    /// Labels a network's variables as parameters and buffers, each of its layer.
    pub(super) fn label_variables(&self, store: &VarStore) {
        if self.0.is_some() {
            alloc_torch::label_variables(store);
        }
    }

    /// Says what a tensor is for, whatever phase it was made in. One that the tracker does not know is passed over.
    pub(super) fn label(&self, tensor: &Tensor, category: Category) {
        if self.0.is_some() {
            let _ = alloc_torch::label(tensor, category);
        }
    }

    /// Says what a block of this program is for; `block` is where it starts. One of less than 64 bytes is passed over.
    pub(super) fn label_block(&self, block: *mut u8, category: Category) {
        if self.0.is_some() {
            let _ = hooks::label(block, category, None);
        }
    }

    /// A step begins.
    pub(super) fn begin_step(&self) {
        if let Some(session) = &self.0 {
            session.begin_step();
        }
    }

    /// The open step ends.
    pub(super) fn end_step(&self) {
        if let Some(session) = &self.0 {
            session.end_step();
        }
    }

    /// Records which layer and category owns how much at this instant.
    pub(super) fn snapshot(&self, name: &str) {
        if let Some(session) = &self.0 {
            session.snapshot(name);
        }
    }

    /// Leaves the recording of a run that failed to the end of the process: it is not a finished one.
    pub(super) fn leave_to_the_end(self) {
        std::mem::forget(self.0);
    }

    /// Writes the timeline and says on stderr what was lost. Returns the path of the timeline.
    pub(super) fn finish(self, interrupted: bool) -> Result<Option<PathBuf>> {
        let Some(session) = self.0 else { return Ok(None) };
        let report = if interrupted { session.finish_interrupted() } else { session.finish() };
        let report = report.context("the timeline could not be written")?;
        for loss in &report.losses {
            console::print_error_line(&format!("note: the timeline is not whole: {loss}"));
        }
        Ok(Some(report.path))
    }
}
