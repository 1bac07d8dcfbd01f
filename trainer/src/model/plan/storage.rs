//! The storages of a step while the plan walks over its stages: who allocated each, and whether the graph keeps it.
use std::collections::BTreeMap;

use crate::model::shape::Shape;
use crate::model::stage::Map;

/// One block of tensor memory.
struct Storage {
    /// The layer that allocated it; `None` for the input.
    owner: Option<String>,
    bytes: u64,
    kept: bool,
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
pub(super) struct Storages {
    storages: Vec<Storage>,
    maps: Vec<usize>,
}

impl Storages {
    /// Nothing but the input, which is map 0.
    pub(super) fn with_input(bytes: u64) -> Storages {
        Storages { storages: vec![Storage { owner: None, bytes, kept: false }], maps: vec![0] }
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
        self.storages.push(Storage { owner: Some(owner.to_owned()), bytes, kept: false });
        self.storages.len() - 1
    }

    /// Marks a storage as kept by the graph. It may be marked twice.
    pub(super) fn keep(&mut self, storage: usize) {
        self.storages[storage].kept = true;
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
        for storage in self.storages.into_iter().filter(|storage| storage.kept) {
            if let Some(owner) = storage.owner {
                *by_owner.entry(owner).or_default() += storage.bytes;
            }
        }
        by_owner
    }
}
