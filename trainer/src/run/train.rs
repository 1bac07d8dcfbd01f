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
//! With `--accumulate` data, forward, loss and backward come once for each part of the batch, and the snapshots of the passes are of
//! the last part: then there are the gradients of the others besides.
//!
//! Gradients are freed at the end of the optimizer phase: `zero_grad` of libtorch's C++ optimizers sets them to none
//! unless told otherwise. So they live from the backward pass to the optimizer, and never during a forward pass. (tch's
//! own `backward_step` frees them between forward and backward: the gradients of one step would live through the next
//! forward pass.)
use std::path::PathBuf;

use alloc_tracker::{layer, phase};
use anyhow::{Context, Result};
use tch::Tensor;

use super::autocast::Numbers;
use super::backward::backward;
use super::error::During;
use super::lessons::Lessons;
use super::loss_scale::LossScale;
use super::parts::Parts;
use super::recording::Recording;
use super::step::{Figures, Step};
use crate::data::{Batch, Batches};
use crate::model::plan::LOSS_LAYER;
use crate::model::{Network, channels_last, cross_entropy, stored};
use crate::optimizer::{Optimizer, Updater};
use crate::settings::{Layout, Settings, Variation};

/// A network, what updates its parameters, and what it learns from.
pub(super) struct Training {
    network: Network,
    batches: Batches,
    updater: Updater,
    numbers: Numbers,
    /// In fp16 alone.
    loss_scale: Option<LossScale>,
    parts: Parts,
    /// In how many equal parts a step runs its batch; a batch of `batches` is one of them.
    accumulate: u64,
    layout: Layout,
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
        let Variation { only, accumulate, layout, save_weights, .. } = &settings.variation;
        let updater = Updater::new(optimizer, network.store().trainable_variables());
        let numbers = Numbers::of(settings);
        let loss_scale = LossScale::of(numbers, network.store().trainable_variables());
        Ok(Training {
            network,
            updater: updater.during("making the optimizer")?,
            numbers,
            loss_scale: loss_scale.during("making the loss scale")?,
            parts: Parts::new(*only, settings.seed),
            accumulate: *accumulate,
            layout: *layout,
            lessons: Lessons::of(settings, &batches)?,
            save: save_weights.clone().map(|path| (settings.steps, path)),
            batches,
        })
    }
}

impl Step for Training {
    fn step(&mut self, recording: &Recording) -> Result<Figures> {
        self.parts.choose(&mut self.network)?;
        let mut mean = 0.0;
        let mut latest = None;
        for left in (0..self.accumulate).rev() {
            drop(latest.take());
            let (loss, batch) = self.pass(recording, left == 0)?;
            mean += loss;
            latest = Some(batch);
        }
        let mut figures = vec![("loss", mean)];
        {
            let _phase = phase!("optimizer");
            let is_finite = match &mut self.loss_scale {
                None => true,
                Some(scale) => {
                    figures.push(("loss_scale", scale.value().during("reading the loss scale")?));
                    scale.unscale().during("dividing the gradients by the loss scale")?
                }
            };
            match is_finite {
                true => self.parts.update(&self.network, &mut self.updater)?,
                false => self.updater.zero_grad().during("letting the gradients go")?,
            }
        }
        recording.snapshot("end of step");
        Ok(figures)
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

impl Training {
    /// The forward and the backward pass of a part of the batch, which is the last one or not. The gradients are added to those that are
    /// there. Returns this part's share of the batch's mean loss, and its inputs, which live to the end of the step.
    fn pass(&mut self, recording: &Recording, is_last: bool) -> Result<(f64, Batch)> {
        let batch = {
            let _phase = phase!("data");
            let mut batch = self.batches.next_batch().during("making the batch")?;
            if self.layout == Layout::ChannelsLast {
                batch.inputs = channels_last(&batch.inputs).during("putting the channels of the images last")?;
            }
            batch
        };
        let loss = {
            let _autocast = self.numbers.autocast().during("switching autocast on")?;
            let logits = {
                let _phase = phase!("forward");
                self.network.forward(&batch.inputs, true).during("the forward pass")?
            };
            let _phase = phase!("loss");
            let _layer = layer!(LOSS_LAYER);
            let loss = self.share(cross_entropy(logits, &batch.labels).during("the loss")?)?;
            match &self.loss_scale {
                None => loss,
                Some(scale) => scale.scaled(loss).during("scaling the loss")?,
            }
        };
        if is_last {
            recording.snapshot("end of forward");
        }
        let value = {
            let _phase = phase!("backward");
            backward(loss).during("the backward pass")?
        };
        let value = match &self.loss_scale {
            None => value,
            Some(scale) => value / scale.value().during("reading the loss scale")?,
        };
        if is_last {
            recording.snapshot("end of backward");
        }
        Ok((value, batch))
    }

    /// The share of the batch's mean that a part's mean is.
    fn share(&self, mean: Tensor) -> Result<Tensor> {
        match self.accumulate {
            1 => Ok(mean),
            parts => mean.f_div_scalar(parts as i64).during("the loss"),
        }
    }
}
