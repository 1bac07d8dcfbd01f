//! Which storages are what. candle shows the storage of every tensor, so each of them can be labelled by its address.
use std::collections::HashSet;

use alloc_tracker::Category;
use alloc_tracker::hooks::{self, LabelError, Name};
use candle_core::backprop::GradStore;
use candle_core::{CpuStorage, Storage, Tensor};

use crate::network::Parameter;

/// Where the values of `tensor` are, from the first byte of its storage on: a view has the address of what it is a view of.
/// `None` for a tensor that is not on the CPU, or of a type that the program has no tensors of.
fn address(tensor: &Tensor) -> Option<*mut u8> {
    let (storage, _) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(CpuStorage::F32(values)) => Some(values.as_ptr().cast_mut().cast()),
        Storage::Cpu(CpuStorage::U32(values)) => Some(values.as_ptr().cast_mut().cast()),
        _ => None,
    }
}

/// Labels the storage of `tensor`. If it was allocated in no layer, it becomes the layer `layer`'s, if one is given.
///
/// Storages of less than 64 bytes cannot be labelled and stay without; and without a recording there is nothing to label.
///
/// # Errors
/// When the storage is no block of the tracker's.
pub fn label(tensor: &Tensor, category: Category, layer: Option<Name>) -> Result<(), LabelError> {
    let Some(address) = address(tensor) else { return Ok(()) };
    match hooks::label(address, category, layer) {
        Err(LabelError::TooSmall | LabelError::NotRecording) => Ok(()),
        result => result,
    }
}

/// Labels the storages of the parameters. They keep them: an optimizer writes into the storage that is there.
///
/// # Errors
/// When a storage is no block of the tracker's.
pub fn parameters(parameters: &[Parameter]) -> Result<(), LabelError> {
    parameters.iter().try_for_each(|one| label(&one.var, Category::Parameter, Some(hooks::name(&one.layer))))
}

/// Labels what the graph under `loss` keeps for the backward pass: each tensor on the way from a parameter to the loss. Each
/// has the layer already in which it was made.
///
/// # Errors
/// When a storage is no block of the tracker's.
pub fn activations(loss: &Tensor, parameters: &[Parameter]) -> Result<(), LabelError> {
    // A transposed weight is a tensor on the way, too; its storage is the parameter's.
    let parameters: HashSet<_> = parameters.iter().map(|one| address(&one.var)).collect();
    let made = loss.sorted_nodes().into_iter().filter(|tensor| !parameters.contains(&address(tensor)));
    made.into_iter().try_for_each(|tensor| label(tensor, Category::Activation, None))
}

/// Labels what the backward pass left: the gradients of the parameters, each in its parameter's layer, and the gradients of
/// other tensors, which nobody asked for. Those have no layer: candle made them in no scope but that of the backward pass.
///
/// # Errors
/// When a storage is no block of the tracker's.
pub fn gradients(gradients: &GradStore, parameters: &[Parameter]) -> Result<(), LabelError> {
    for id in gradients.get_ids() {
        let Some(gradient) = gradients.get_id(*id) else { continue };
        match parameters.iter().find(|one| one.var.id() == *id) {
            Some(parameter) => label(gradient, Category::Gradient, Some(hooks::name(&parameter.layer)))?,
            None => label(gradient, Category::Activation, None)?,
        }
    }
    Ok(())
}
