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
//! Gradients are freed at the end of the optimizer phase: `zero_grad` of libtorch's C++ optimizers sets them to none
//! unless told otherwise. So they live from the backward pass to the optimizer, and never during a forward pass. (tch's
//! own `backward_step` frees them between forward and backward: the gradients of one step would live through the next
//! forward pass.)
use alloc_tracker::{layer, phase};
use anyhow::Result;
use tch::nn::{self, OptimizerConfig};
use tch::{COptimizer, Kind, Reduction, Tensor};

use super::error::During;
use super::recording::Recording;
use super::step::Step;
use crate::data::Batches;
use crate::model::Network;
use crate::model::plan::LOSS_LAYER;
use crate::optimizer::{Optimizer, OptimizerName};

/// Labels of this value are ignored: PyTorch's default. Our data has no such label.
const IGNORED_LABEL: i64 = -100;

/// A network and what updates its parameters.
pub(super) struct Training {
    network: Network,
    optimizer: COptimizer,
}

impl Training {
    /// The optimizer over all trainable variables. `COptimizer`, because tch's own wrapper panics on an error.
    pub(super) fn new(network: Network, optimizer: Optimizer) -> Result<Training> {
        let what = "making the optimizer";
        let lr = optimizer.lr();
        let built = match optimizer.name {
            OptimizerName::Sgd => {
                let momentum = optimizer.momentum().unwrap_or(0.0);
                nn::Sgd { momentum, ..nn::Sgd::default() }.build_copt(lr)
            }
            OptimizerName::Adam => nn::Adam::default().build_copt(lr),
            OptimizerName::AdamW => nn::AdamW::default().build_copt(lr),
            OptimizerName::RmsProp => nn::RmsProp::default().build_copt(lr),
        };
        let mut optimizer = built.during(what)?;
        for variable in network.store().trainable_variables() {
            optimizer.add_parameters(&variable, 0).during(what)?;
        }
        Ok(Training { network, optimizer })
    }
}

impl Step for Training {
    fn step(&mut self, batches: &mut Batches, recording: &Recording) -> Result<Option<f64>> {
        let batch = {
            let _phase = phase!("data");
            batches.next_batch().during("making the batch")?
        };
        let logits = {
            let _phase = phase!("forward");
            self.network.forward(&batch.inputs, true).during("the forward pass")?
        };
        let loss = {
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
            self.optimizer.step().during("the optimizer")?;
            self.optimizer.zero_grad().during("the optimizer")?;
        }
        recording.snapshot("end of step");
        Ok(Some(value))
    }
}

/// Mean cross-entropy of logits `[N, classes]` and labels `[N]`, or of `[N, L, classes]` and `[N, L]`; one f32. The logits
/// are dropped early: the graph needs only the log-probabilities.
fn cross_entropy(logits: Tensor, labels: &Tensor) -> tch::Result<Tensor> {
    let logits_of_places = logits.dim() > 2;
    let log_probabilities = logits.f_log_softmax(-1, None::<Kind>)?;
    drop(logits);
    if logits_of_places {
        let (log_probabilities, labels) = (log_probabilities.f_flatten(0, -2)?, labels.f_flatten(0, -1)?);
        return log_probabilities.f_nll_loss(&labels, None::<&Tensor>, Reduction::Mean, IGNORED_LABEL);
    }
    log_probabilities.f_nll_loss(labels, None::<&Tensor>, Reduction::Mean, IGNORED_LABEL)
}

/// Runs the backward pass from `loss`, then drops the loss and its graph. Returns the loss as a number.
fn backward(loss: Tensor) -> tch::Result<f64> {
    loss.f_backward()?;
    loss.f_double_value(&[])
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
    }

    /// d(x^2)/dx = 2x at x = 3.
    #[test]
    fn backward_leaves_the_gradient() {
        let x = Tensor::from_slice(&[3.0f32]).set_requires_grad(true);
        let loss = (&x * &x).sum(Kind::Float);
        assert_eq!(backward(loss).expect("runs"), 9.0);
        assert_eq!(x.grad().double_value(&[0]), 6.0);
    }
}
