//! The layers of parameters, for models whose layers are named by their parameters' paths.
//!
//! A parameter is known by its storage, because views of it are other tensors of the same storage. It is known by its tensor
//! as well where the face tells those apart: `half()`, `to()` and `set_data` give the same tensor another storage, which
//! takes over the layer as soon as an operator reads it. Where two parameters share a storage, each has its own layer.
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use alloc_tracker::hooks::Name;
use dashmap::DashMap;

use crate::event::Storage;
use crate::hooks::Hooks;

/// Parameter storage -> layer. Read at every operator, by every thread that runs some.
pub(crate) struct ParameterLayers {
    by_storage: LazyLock<DashMap<Storage, Name>>,
    /// Parameter tensor -> layer, and the storage that it had when it was last looked at.
    by_tensor: LazyLock<DashMap<usize, (Name, Storage)>>,
    /// Whether there is one: only then operators have layers by what they read.
    is_named: AtomicBool,
}

impl ParameterLayers {
    pub(crate) const fn new() -> ParameterLayers {
        ParameterLayers {
            by_storage: LazyLock::new(DashMap::new),
            by_tensor: LazyLock::new(DashMap::new),
            is_named: AtomicBool::new(false),
        }
    }

    pub(crate) fn insert(&self, parameter: Storage, layer: Name) {
        self.by_storage.insert(parameter, layer);
        self.is_named.store(true, Ordering::Relaxed);
    }

    /// The parameter that is this tensor keeps its layer when it is given another storage. Returns whether the tensor was not
    /// known before.
    pub(crate) fn insert_tensor(&self, tensor: usize, parameter: Storage, layer: Name) -> bool {
        self.insert(parameter, layer);
        self.by_tensor.insert(tensor, (layer, parameter)).is_none()
    }

    /// The layer of the parameter that is this tensor, which has this storage now.
    fn of_tensor(&self, tensor: usize, storage: Storage) -> Option<Name> {
        let (layer, before) = self.by_tensor.get(&tensor).map(|known| *known)?;
        if before != storage {
            self.by_tensor.insert(tensor, (layer, storage));
            // What is allocated there next is no parameter.
            self.by_storage.remove_if(&before, |_, of| *of == layer);
            self.by_storage.insert(storage, layer);
        }
        Some(layer)
    }

    fn named(&self, storage: Storage) -> Option<Name> {
        if !self.is_named.load(Ordering::Relaxed) {
            return None;
        }
        self.by_storage.get(&storage).map(|layer| *layer)
    }

    /// The layer of a parameter: as its path names it, or else the one in which its storage was allocated.
    pub(crate) fn of_parameter(&self, hooks: &impl Hooks, parameter: Storage) -> Option<Name> {
        self.named(parameter).or_else(|| allocating_layer(hooks, parameter))
    }

    /// The layer of an operator that reads these storages: of the first that is a parameter, or else the one in which the
    /// first of them was allocated that was allocated in a layer. Only where layers are named by parameters, or `always`.
    pub(crate) fn of_inputs(
        &self,
        hooks: &impl Hooks,
        inputs: &[Storage],
        tensors: &[usize],
        always: bool,
    ) -> Option<Name> {
        let is_named = self.is_named.load(Ordering::Relaxed);
        if inputs.is_empty() || !(always || is_named) {
            return None;
        }
        // All of them are looked at: each may have been given another storage.
        let of_tensor = |(&tensor, &storage): (&usize, &Storage)| self.of_tensor(tensor, storage);
        let by_tensor = if is_named {
            tensors.iter().zip(inputs).filter_map(of_tensor).fold(None, |first, layer| first.or(Some(layer)))
        } else {
            None
        };
        let by_parameter = by_tensor.or_else(|| inputs.iter().find_map(|&input| self.named(input)));
        by_parameter.or_else(|| inputs.iter().find_map(|&input| allocating_layer(hooks, input)))
    }
}

/// The layer in which `storage` was allocated; `None` when that was in no layer, or the storage is not tracked.
fn allocating_layer(hooks: &impl Hooks, storage: Storage) -> Option<Name> {
    hooks.layer_of(storage).filter(|&layer| layer != Name(0))
}

/// The layer that a variable's path names: `fc1.weight` is of `fc1`.
pub(crate) fn layer_in(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(layer, _)| layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_layer() {
        assert_eq!(layer_in("layer1.0.conv1.weight"), "layer1.0.conv1");
        assert_eq!(layer_in("scale"), "scale", "a variable of the root is a layer of its own");
    }
}
