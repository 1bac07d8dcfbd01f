//! A training step, phase by phase. Each phase drops the tensors that are not needed after it.
//!
//! | phase     | alive at its end, besides parameters and the optimizer's state    |
//! |-----------|-------------------------------------------------------------------|
//! | data      | images, labels                                                    |
//! | forward   | + maps saved for backward, logits                                 |
//! | loss      | - logits, + log-probabilities, loss: snapshot "end of forward"    |
//! | backward  | - all maps, - loss, + gradients: snapshot "end of backward"       |
//! | optimizer | - gradients (the state is there from the first step on): snapshot "end of step" |
//!
//! No layer is active in the optimizer phase: what it allocates for a parameter is of the layer that the parameter is of,
//! because the attribution looks at what each operator reads.
//!
//! Gradients are freed at the end of the optimizer phase: `zero_grad` of libtorch's C++ optimizers sets them to none
//! unless told otherwise. So they live from the backward pass to the optimizer, and never during a forward pass. (tch's
//! own `backward_step` frees them between forward and backward: the gradients of one step would live through the next
//! forward pass.)
use std::path::PathBuf;

use alloc_tracker::{layer, phase};
use anyhow::{Context, Result};

use super::autocast::autocast;
use super::backward::backward;
use super::error::During;
use super::lessons::Lessons;
use super::parts::Parts;
use super::recording::Recording;
use super::step::{Figures, Step};
use crate::data::Batches;
use crate::model::plan::LOSS_LAYER;
use crate::model::{Network, cross_entropy, stored};
use crate::optimizer::{Optimizer, Updater};
use crate::precision::Precision;
use crate::settings::{Settings, Variation};

/// A network, what updates its parameters, and what it learns from.
pub(super) struct Training {
    network: Network,
    batches: Batches,
    updater: Updater,
    precision: Precision,
    parts: Parts,
    lessons: Option<Lessons>,
    /// Where the weights go when so many steps are done.
    save: Option<(u64, PathBuf)>,
}

impl Training {
    /// The optimizer over all trainable variables.
    pub(super) fn new(
        network: Network,
        optimizer: Optimizer,
        batches: Batches,
        settings: &Settings,
    ) -> Result<Training> {
        let Variation { only, save_weights, .. } = &settings.variation;
        let updater = Updater::new(optimizer, network.store().trainable_variables());
        Ok(Training {
            network,
            updater: updater.during("making the optimizer")?,
            precision: settings.precision,
            parts: Parts::new(*only, settings.seed),
            lessons: Lessons::of(settings, &batches)?,
            save: save_weights.clone().map(|path| (settings.steps, path)),
            batches,
        })
    }
}

impl Step for Training {
    fn step(&mut self, recording: &Recording) -> Result<Figures> {
        let batch = {
            let _phase = phase!("data");
            self.batches.next_batch().during("making the batch")?
        };
        self.parts.choose(&mut self.network)?;
        let loss = {
            let _autocast = autocast(self.precision).during("switching autocast on")?;
            let logits = {
                let _phase = phase!("forward");
                self.network.forward(&batch.inputs, true).during("the forward pass")?
            };
            let _phase = phase!("loss");
            let _layer = layer!(LOSS_LAYER);
            cross_entropy(logits, &batch.labels).during("the loss")?
        };
        recording.snapshot("end of forward");
        let value = {
            let _phase = phase!("backward");
            backward(loss).during("the backward pass")?
        };
        recording.snapshot("end of backward");
        {
            let _phase = phase!("optimizer");
            self.parts.update(&self.network, &mut self.updater)?;
        }
        recording.snapshot("end of step");
        Ok(vec![("loss", value)])
    }

    fn between(&mut self, done: u64) -> Result<Option<f64>> {
        if let Some((_, path)) = self.save.as_ref().filter(|(at, _)| *at == done) {
            let saved = stored::save(self.network.store(), path);
            saved.with_context(|| format!("{}: the weights cannot be written", path.display()))?;
        }
        match &self.lessons {
            Some(lessons) => lessons.between(done, &mut self.network, &mut self.batches),
            None => Ok(None),
        }
    }
}
