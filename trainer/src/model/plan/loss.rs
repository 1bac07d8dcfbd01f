//! What the losses keep for the backward pass. The loss itself is counted: the trainer holds it to start backward from.
//!
//! `binary_cross_entropy_out_cpu` (ATen/native/Loss.cpp) writes the loss of each input into the storage of its result, and
//! then the mean of them, for which it makes the result smaller, but not the storage. `huber_loss` (ATen/native/BinaryOps.cpp)
//! makes a storage of its own for the mean. The worth of the actions done is gather's result; gather's formula names `self`.
//! All of them keep the labels or actions as well, which are input.
use super::rule::Rule;
use super::storage::Storages;
use crate::model::loss::{LOSS_LAYER, Loss};
use crate::model::shape::F32;

const LOG_SOFTMAX: Rule = Rule::of_node(
    ["log-softmax", "result"],
    ["LogSoftmaxBackward0", "result"],
    "The gradient of the logits is computed from the log-probabilities, so the logits are not kept.",
    &["tools/autograd/derivatives.yaml: _log_softmax"],
);
const NLL_INPUT: Rule = Rule::of_node(
    ["negative log-likelihood", "log-probabilities"],
    ["NllLossBackward0", "self"],
    "Their gradient has their shape; the values are not read.",
    &["tools/autograd/derivatives.yaml: nll_loss_forward"],
);
const NLL_WEIGHT: Rule = Rule::of_node(
    ["negative log-likelihood", "total weight"],
    ["NllLossBackward0", "total_weight"],
    "The gradient of a mean is divided by the sum of the labels' weights, one f32.",
    &["tools/autograd/derivatives.yaml: nll_loss_forward", "aten/src/ATen/native/LossNLL.cpp: nll_loss_out_frame"],
);
const LOSS: Rule = Rule {
    operator: "loss",
    keeps: "result",
    sentence: "The backward pass starts from it; the program holds it, and no node.",
    node: None,
    sources: &["trainer/src/run/backward.rs: backward"],
};
const BINARY_CROSS_ENTROPY: Rule = Rule::of_node(
    ["binary cross-entropy", "probabilities"],
    ["BinaryCrossEntropyBackward0", "self"],
    "The gradient is (p - label) / (p x (1 - p)).",
    &["tools/autograd/derivatives.yaml: binary_cross_entropy"],
);
const LOSS_OF_EACH: Rule = Rule {
    operator: "binary cross-entropy",
    keeps: "result",
    sentence: "The loss, from which the backward pass starts, lies in a storage with room for the loss of each input.",
    node: None,
    sources: &["trainer/src/run/backward.rs: backward", "aten/src/ATen/native/Loss.cpp: binary_cross_entropy_out_cpu"],
};
const GATHER: Rule = Rule::of_node(
    ["gather", "input"],
    ["GatherBackward0", "self"],
    "The worth of all actions: its gradient has its shape, and is 0 but for the actions done.",
    &["tools/autograd/derivatives.yaml: gather"],
);
const HUBER_INPUT: Rule = Rule::of_node(
    ["Huber loss", "input"],
    ["HuberLossBackward0", "self"],
    "The worth of the actions done: the gradient is their distance from the targets, cut off.",
    &["tools/autograd/derivatives.yaml: huber_loss"],
);
const HUBER_TARGET: Rule = Rule::of_node(
    ["Huber loss", "targets"],
    ["HuberLossBackward0", "target"],
    "The gradient is the distance from them, cut off.",
    &["tools/autograd/derivatives.yaml: huber_loss"],
);

/// What a loss of this kind keeps of a map in the storage `input`, besides what it allocates.
pub(super) fn keep(storages: &mut Storages, loss: Loss, input: usize, batch: u64) {
    match loss {
        Loss::BinaryCrossEntropy => {
            storages.keep(input, &BINARY_CROSS_ENTROPY);
            storages.allocate_kept(LOSS_LAYER, batch * F32, &LOSS_OF_EACH);
        }
        Loss::Huber => {
            storages.keep(input, &GATHER);
            storages.allocate_kept(LOSS_LAYER, batch * F32, &HUBER_TARGET);
            storages.allocate_kept(LOSS_LAYER, batch * F32, &HUBER_INPUT);
            storages.allocate_kept(LOSS_LAYER, F32, &LOSS);
        }
    }
}

/// What the cross-entropy of classes keeps of so many `logits`.
pub(super) fn keep_of_classes(storages: &mut Storages, logits: u64) {
    let log_probabilities = storages.allocate_kept(LOSS_LAYER, logits * F32, &LOG_SOFTMAX);
    storages.keep(log_probabilities, &NLL_INPUT);
    storages.allocate_kept(LOSS_LAYER, F32, &LOSS);
    storages.allocate_kept(LOSS_LAYER, F32, &NLL_WEIGHT);
}
