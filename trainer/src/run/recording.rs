//! The session of a run, or none when tracking is off. The steps call it in the same way in both cases.
use std::path::PathBuf;

use alloc_tracker::{Session, Times};
use anyhow::{Context, Result};

use crate::console;
use crate::model::Chained;
use crate::settings::Settings;

/// A session, or none when tracking is off.
pub(super) struct Recording(Option<Session>);

impl Recording {
    /// Starts a session that writes the timeline of `settings`, with the facts about the run; none without a timeline.
    pub(super) fn start(settings: &Settings) -> Result<Recording> {
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
            .fact("parameters", stages.iter().map(|stage| stage.op.parameters()).sum::<u64>())
            .fact("data", settings.data.display().to_string());
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
        }
        if settings.layer_times {
            builder = builder.times(Times::ByScope);
        }
        let session = builder.start().with_context(|| format!("{}: cannot be recorded", out.display()))?;
        Ok(Recording(Some(session)))
    }

    /// Whether there is a session.
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
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
