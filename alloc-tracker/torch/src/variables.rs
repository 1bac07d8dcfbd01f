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
    hooks::label(storage(tensor), category)
}

/// Labels the storages of a store's variables: trainable ones as parameters, the others as buffers. Only while a session
/// records.
pub fn label_variables(store: &nn::VarStore) {
    let trainable: Vec<*mut u8> = store.trainable_variables().iter().map(storage).collect();
    for tensor in store.variables().values() {
        let block = storage(tensor);
        let category = if trainable.contains(&block) { Category::Parameter } else { Category::Buffer };
        hooks::label(block, category);
    }
}

/// Names layers with no change to the model: an operator belongs to the layer whose parameter it reads
/// (`fc1.weight` makes it `fc1`), and one that reads none to the layer that made its input. Layers that the program
/// names itself win. Labels the variables too.
pub fn name_layers(store: &nn::VarStore) {
    for (path, tensor) in store.variables() {
        let layer = path.rsplit_once('.').map_or(path.as_str(), |(layer, _)| layer);
        LAYERS.insert(storage(&tensor).addr(), hooks::name(layer));
    }
    label_variables(store);
    crate::ops::watch(true);
}

/// The layer of a parameter: as named, or else the one in which its storage was made.
pub fn layer_of(parameter: *const u8) -> Option<Name> {
    if parameter.is_null() {
        return None;
    }
    LAYERS.get(&parameter.addr()).map(|layer| *layer).or_else(|| hooks::layer_of(parameter))
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
