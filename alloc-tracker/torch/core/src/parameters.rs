//! The layers of parameters, for models whose layers are named by their parameters' paths.
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use alloc_tracker::hooks::Name;
use dashmap::DashMap;

use crate::event::Storage;
use crate::hooks::Hooks;

/// Parameter storage -> layer. Read at every operator, by every thread that runs some.
pub(crate) struct ParameterLayers {
    by_storage: LazyLock<DashMap<Storage, Name>>,
    /// Whether there is one: only then operators have layers by what they read.
    is_named: AtomicBool,
}

impl ParameterLayers {
    pub(crate) const fn new() -> ParameterLayers {
        ParameterLayers { by_storage: LazyLock::new(DashMap::new), is_named: AtomicBool::new(false) }
    }

    pub(crate) fn insert(&self, parameter: Storage, layer: Name) {
        self.by_storage.insert(parameter, layer);
        self.is_named.store(true, Ordering::Relaxed);
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
    pub(crate) fn of_inputs(&self, hooks: &impl Hooks, inputs: &[Storage], always: bool) -> Option<Name> {
        if inputs.is_empty() || !(always || self.is_named.load(Ordering::Relaxed)) {
            return None;
        }
        let by_parameter = inputs.iter().find_map(|&input| self.named(input));
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
