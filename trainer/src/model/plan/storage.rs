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

/// How a map lies that stages read.
#[derive(Clone, Copy)]
pub(super) struct Read {
    /// The storage in which it lies.
    pub(super) storage: usize,
    /// What one input of the batch is in it.
    pub(super) shape: Shape,
    /// Whether a sequence lies in memory with its places first, `[L, N, features]`.
    pub(super) places_first: bool,
}

/// All storages of a step by their index, and in which of them each map lies.
pub(super) struct Storages {
    storages: Vec<Storage>,
    maps: Vec<Read>,
}

impl Storages {
    /// Nothing but the input, which is map 0.
    pub(super) fn with_input(bytes: u64, shape: Shape) -> Storages {
        let storages = vec![Storage { owner: None, bytes, kept: false }];
        Storages { storages, maps: vec![Read { storage: 0, shape, places_first: false }] }
    }

    /// The next map lies like this.
    pub(super) fn add_map(&mut self, map: Read) {
        self.maps.push(map);
    }

    /// How a map lies.
    pub(super) fn map(&self, map: Map) -> Read {
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
