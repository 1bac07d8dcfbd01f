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
use alloc_tracker::{layer, phase};
use anyhow::Result;

use super::autocast::autocast;
use super::backward::backward;
use super::error::During;
use super::recording::Recording;
use super::step::{Figures, Step};
use crate::data::Batches;
use crate::model::plan::LOSS_LAYER;
use crate::model::{Network, cross_entropy};
use crate::optimizer::{Optimizer, Updater};
use crate::precision::Precision;

/// A network, what updates its parameters, and what it learns from.
pub(super) struct Training {
    network: Network,
    batches: Batches,
    updater: Updater,
    precision: Precision,
}

impl Training {
    /// The optimizer over all trainable variables.
    pub(super) fn new(
        network: Network,
        optimizer: Optimizer,
        batches: Batches,
        precision: Precision,
    ) -> Result<Training> {
        let updater = Updater::new(optimizer, network.store().trainable_variables());
        Ok(Training { network, batches, updater: updater.during("making the optimizer")?, precision })
    }
}

impl Step for Training {
    fn step(&mut self, recording: &Recording) -> Result<Figures> {
        let batch = {
            let _phase = phase!("data");
            self.batches.next_batch().during("making the batch")?
        };
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
            self.updater.update().during("the optimizer")?;
        }
        recording.snapshot("end of step");
        Ok(vec![("loss", value)])
    }
}
