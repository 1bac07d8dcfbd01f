//! What the losses keep for the backward pass. The loss itself is counted: the trainer holds it to start backward from.
//!
//! ```text
//! loss                    allocates                                          keeps for backward
//! cross-entropy           log-probabilities, loss, total weight              log-probabilities, total weight, (the labels)
//! binary cross-entropy    loss, in a storage of [N]                          the probabilities, (the labels)
//! Huber                   targets [N], worth of the actions done [N], loss   both, and the worth of all actions
//! ```
//!
//! `binary_cross_entropy_out_cpu` (ATen/native/Loss.cpp) writes the loss of each input into the storage of its result, and
//! then the mean of them, for which it makes the result smaller, but not the storage. `huber_loss` (ATen/native/BinaryOps.cpp)
//! makes a storage of its own for the mean. The worth of the actions done is gather's result; gather's formula names `self`.
use super::storage::Storages;
use crate::model::loss::{LOSS_LAYER, Loss};
use crate::model::shape::F32;

/// What a loss of this kind keeps of a map in the storage `input`, besides what it allocates.
pub(super) fn keep(storages: &mut Storages, loss: Loss, input: usize, batch: u64) {
    storages.keep(input);
    match loss {
        Loss::BinaryCrossEntropy => {
            storages.allocate_kept(LOSS_LAYER, batch * F32);
        }
        Loss::Huber => {
            storages.allocate_kept(LOSS_LAYER, batch * F32);
            storages.allocate_kept(LOSS_LAYER, batch * F32);
            storages.allocate_kept(LOSS_LAYER, F32);
        }
    }
}

/// What the cross-entropy of classes keeps of so many `logits`.
pub(super) fn keep_of_classes(storages: &mut Storages, logits: u64) {
    storages.allocate_kept(LOSS_LAYER, logits * F32);
    storages.allocate_kept(LOSS_LAYER, F32);
    storages.allocate_kept(LOSS_LAYER, F32);
}
