//! A store's variables, handed to the attribution: parameters, buffers, and layers by parameter.
use alloc_torch_core::Storage;
use alloc_tracker::Category;
use alloc_tracker::hooks::LabelError;
use tch::{Tensor, nn};

use crate::events::ATTRIBUTION;
use crate::shim;

/// Labels one tensor's storage, for its whole life.
///
/// ```no_run
/// use alloc_tracker::Category;
///
/// # fn main() -> Result<(), alloc_torch::LabelError> {
/// let images = tch::Tensor::zeros([64, 3, 32, 32], tch::kind::FLOAT_CPU);
/// alloc_torch::label(&images, Category::Input)?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LabelError::NotRecording`] without a session, [`LabelError::UnknownBlock`] when the storage is not the tracker's (one
/// of a device that is not watched, say) or the tensor has none, [`LabelError::TooSmall`] when the tracker does not know it by its address.
pub fn label(tensor: &Tensor, category: Category) -> Result<(), LabelError> {
    ATTRIBUTION.label(shim::storage(tensor), category)
}

/// Labels the storages of a store's variables: trainable ones as parameters, the others as buffers. Variables that were
/// made in no layer become the layer's that their path names. Only while a session records; variables that the tracker does
/// not know are passed over.
///
/// ```no_run
/// use tch::nn;
///
/// let store = nn::VarStore::new(tch::Device::Cpu);
/// let _fc1 = nn::linear(store.root() / "fc1", 784, 10, Default::default());
/// alloc_torch::label_variables(&store); // fc1.weight and fc1.bias: parameters of the layer fc1
/// ```
pub fn label_variables(store: &nn::VarStore) {
    let trainable: Vec<Option<Storage>> = store.trainable_variables().iter().map(shim::storage).collect();
    ATTRIBUTION.label_variables(with_storages(store), &trainable);
}

/// Names layers with no change to the model: an operator belongs to the layer whose parameter it reads
/// (`fc1.weight` makes it `fc1`), and one that reads none to the layer that made its input. Layers that the program
/// names itself win. Labels the variables too, as [`label_variables`] does.
///
/// A variable keeps its layer when it is given another storage ([`VarStore::half`](nn::VarStore::half), `set_device`,
/// `set_data`). Its new storage is no parameter by label before [`label_variables`] or this function is called again.
///
/// ```no_run
/// use tch::nn;
///
/// let store = nn::VarStore::new(tch::Device::Cpu);
/// let _fc1 = nn::linear(store.root() / "fc1", 784, 10, Default::default());
/// alloc_torch::name_layers(&store); // every operator that reads fc1.weight or fc1.bias is of the layer fc1
/// ```
pub fn name_layers(store: &nn::VarStore) {
    for (path, tensor) in store.variables() {
        if let Some(storage) = shim::storage(&tensor)
            && ATTRIBUTION.name_layer_of(&path, storage, shim::identity(&tensor))
        {
            shim::keep_identity(&tensor);
        }
    }
    label_variables(store);
    shim::watch_operators(true);
}

/// The variables' paths and storages.
fn with_storages(store: &nn::VarStore) -> impl Iterator<Item = (String, Option<Storage>)> {
    store.variables().into_iter().map(|(path, tensor)| (path, shim::storage(&tensor)))
}
