//! Variables: which storages are parameters and buffers, and which layer each parameter belongs to.
use std::ffi::c_void;
use std::sync::LazyLock;

use alloc_tracker::Category;
use alloc_tracker::hooks::{self, Name};
use dashmap::DashMap;
use tch::{Tensor, nn};

unsafe extern "C" {
    fn alloc_torch_storage(tensor: *const c_void) -> *mut c_void;
}

/// Parameter storage -> layer, for models whose layers are named by their parameters. Read at every operator, by every
/// thread that runs some.
static LAYERS: LazyLock<DashMap<usize, Name>> = LazyLock::new(DashMap::new);

/// The block that a tensor's elements lie in; null when the tensor has none of its own.
fn storage(tensor: &Tensor) -> *mut u8 {
    if !tensor.defined() {
        return std::ptr::null_mut();
    }
    // SAFETY: `as_ptr` is the at::Tensor that the Tensor owns, alive for the call.
    unsafe { alloc_torch_storage(tensor.as_ptr().cast()) }.cast()
}

/// Labels one tensor's storage, for its whole life. Only while a session records. `false` when the storage is not
/// the tracker's (a GPU's, say).
pub fn label(tensor: &Tensor, category: Category) -> bool {
    hooks::label(storage(tensor), category, None)
}

/// The layer that a variable's path names: `fc1.weight` is of `fc1`.
fn layer_in(path: &str) -> Name {
    hooks::name(path.rsplit_once('.').map_or(path, |(layer, _)| layer))
}

/// Labels the storages of a store's variables: trainable ones as parameters, the others as buffers. Variables that were
/// made in no layer become the layer's that their path names. Only while a session records.
pub fn label_variables(store: &nn::VarStore) {
    let trainable: Vec<*mut u8> = store.trainable_variables().iter().map(storage).collect();
    for (path, tensor) in store.variables() {
        let block = storage(&tensor);
        let category = if trainable.contains(&block) { Category::Parameter } else { Category::Buffer };
        hooks::label(block, category, Some(layer_in(&path)));
    }
}

/// Names layers with no change to the model: an operator belongs to the layer whose parameter it reads
/// (`fc1.weight` makes it `fc1`), and one that reads none to the layer that made its input. Layers that the program
/// names itself win. Labels the variables too.
pub fn name_layers(store: &nn::VarStore) {
    for (path, tensor) in store.variables() {
        LAYERS.insert(storage(&tensor).addr(), layer_in(&path));
    }
    label_variables(store);
    crate::ops::watch(true);
}

/// The layer of a parameter: as named, or else the one in which its storage was made.
pub fn layer_of(parameter: *const u8) -> Option<Name> {
    if parameter.is_null() {
        return None;
    }
    let made_in = || hooks::layer_of(parameter).filter(|&layer| layer != Name(0));
    LAYERS.get(&parameter.addr()).map(|layer| *layer).or_else(made_in)
}

/// The layer of an operator that reads these storages.
pub fn layer_by_inputs(inputs: &[*const u8]) -> Option<Name> {
    if inputs.is_empty() {
        return None;
    }
    let by_parameter = inputs.iter().find_map(|input| LAYERS.get(&input.addr()).map(|layer| *layer));
    let made = || inputs.iter().find_map(|&input| hooks::layer_of(input).filter(|&layer| layer != Name(0)));
    by_parameter.or_else(made)
}
