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
use tch::{Kind, Reduction, Tensor};

use super::autocast::autocast;
use super::backward::backward;
use super::error::During;
use super::recording::Recording;
use super::step::{Figures, Step};
use crate::data::Batches;
use crate::model::Network;
use crate::model::plan::LOSS_LAYER;
use crate::optimizer::{Optimizer, Updater};
use crate::precision::Precision;

/// Labels of this value are ignored: PyTorch's default. Our data has no such label.
const IGNORED_LABEL: i64 = -100;

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

/// Mean cross-entropy of logits `[N, classes]` and labels `[N]`, or of `[N, L, classes]` and `[N, L]`; one f32. The logits
/// are dropped early: the graph needs only the log-probabilities. These are fp32 also where the logits are bf16, as those of
/// PyTorch's `cross_entropy` under autocast.
fn cross_entropy(logits: Tensor, labels: &Tensor) -> tch::Result<Tensor> {
    let logits_of_places = logits.dim() > 2;
    let log_probabilities = logits.f_log_softmax(-1, Kind::Float)?;
    drop(logits);
    if logits_of_places {
        let (log_probabilities, labels) = (log_probabilities.f_flatten(0, -2)?, labels.f_flatten(0, -1)?);
        return log_probabilities.f_nll_loss(&labels, None::<&Tensor>, Reduction::Mean, IGNORED_LABEL);
    }
    log_probabilities.f_nll_loss(labels, None::<&Tensor>, Reduction::Mean, IGNORED_LABEL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two equal logits: each class has probability 1/2, and the loss is ln 2 whatever the label.
    #[test]
    fn cross_entropy_of_a_coin() {
        let logits = Tensor::from_slice(&[0.0f32, 0.0]).view([1, 2]);
        let loss = cross_entropy(logits, &Tensor::from_slice(&[1i64])).expect("computes");
        assert!((loss.double_value(&[]) - 2f64.ln()).abs() < 1e-6);
        let logits = Tensor::from_slice(&[0.0f32, 0.0]).view([1, 2]).to_kind(Kind::BFloat16);
        let of_bf16 = cross_entropy(logits, &Tensor::from_slice(&[1i64])).expect("computes");
        assert_eq!(of_bf16, loss, "bf16 has only three digits of ln 2");
    }
}
