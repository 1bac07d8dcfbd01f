//! The storages of a step while the plan walks over its stages: who allocated each, and whether the graph keeps it.
use std::collections::BTreeMap;

use crate::model::shape::Shape;
use crate::model::stage::Map;

/// One block of tensor memory.
pub(in crate::model) struct Storage {
    /// The layer that allocated it; `None` for the input.
    owner: Option<String>,
    pub(in crate::model) bytes: u64,
    /// The stage that allocated it, counted from 0; the loss counts as one behind the last.
    pub(in crate::model) made_by: usize,
    /// The stages whose nodes of the graph keep it, in order.
    pub(in crate::model) kept_by: Vec<usize>,
}

/// A map that a stage reads.
#[derive(Clone, Copy)]
pub(super) struct Read {
    /// The storage in which it lies.
    pub(super) storage: usize,
    /// What one input of the batch is in it.
    pub(super) shape: Shape,
}

/// All storages of a step by their index, and in which of them each map lies.
pub(in crate::model) struct Storages {
    pub(in crate::model) storages: Vec<Storage>,
    /// The index of each map's storage.
    pub(in crate::model) maps: Vec<usize>,
}

impl Storages {
    /// Nothing but the input, which is map 0.
    pub(super) fn with_input(bytes: u64) -> Storages {
        let input = Storage { owner: None, bytes, made_by: 0, kept_by: Vec::new() };
        Storages { storages: vec![input], maps: vec![0] }
    }

    /// The stage that runs: each before it has left a map.
    fn stage(&self) -> usize {
        self.maps.len() - 1
    }

    /// The next map lies in this storage.
    pub(super) fn add_map(&mut self, storage: usize) {
        self.maps.push(storage);
    }

    /// The storage of a map.
    pub(super) fn of_map(&self, map: Map) -> usize {
        self.maps[map.0]
    }

    /// Adds a storage and returns its index.
    pub(super) fn allocate(&mut self, owner: &str, bytes: u64) -> usize {
        let made_by = self.stage();
        self.storages.push(Storage { owner: Some(owner.to_owned()), bytes, made_by, kept_by: Vec::new() });
        self.storages.len() - 1
    }

    /// Marks a storage as kept by the graph. It may be marked twice.
    pub(super) fn keep(&mut self, storage: usize) {
        let stage = self.stage();
        let kept_by = &mut self.storages[storage].kept_by;
        if kept_by.last() != Some(&stage) {
            kept_by.push(stage);
        }
    }

    /// Adds a storage that the graph keeps from the start, and returns its index.
    pub(super) fn allocate_kept(&mut self, owner: &str, bytes: u64) -> usize {
        let storage = self.allocate(owner, bytes);
        self.keep(storage);
        storage
    }

    /// Bytes that the graph keeps, by who allocated them.
    pub(super) fn kept_by_owner(self) -> BTreeMap<String, u64> {
        let mut by_owner = BTreeMap::new();
        for storage in self.storages.into_iter().filter(|storage| !storage.kept_by.is_empty()) {
            if let Some(owner) = storage.owner {
                *by_owner.entry(owner).or_default() += storage.bytes;
            }
        }
        by_owner
    }
}
