//! The storages of a step while the plan walks over its stages: who allocated each, and which nodes of the graph keep it.
use std::collections::BTreeMap;

use super::rule::Rule;
use crate::model::shape::Shape;
use crate::model::stage::{Map, Stage};

/// One block of tensor memory.
pub(in crate::model) struct Storage {
    /// The layer that allocated it; `None` for the input.
    pub(super) owner: Option<String>,
    pub(in crate::model) bytes: u64,
    /// The stage that allocated it, counted from 0; the loss counts as one behind the last.
    pub(in crate::model) made_by: usize,
    /// Who keeps it, in order.
    pub(super) keepers: Vec<Keeper>,
}

/// A stage whose nodes of the graph keep a storage, and why.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Keeper {
    pub(super) stage: usize,
    pub(super) rule: &'static Rule,
}

/// How far the backward pass comes into a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// It does not reach it: neither the stage nor anything before it learns, so there is no node that could keep something.
    Ends,
    /// Through it, to something before it that learns; it learns nothing itself.
    Through,
    /// Its parameters learn.
    Learns,
}

impl Reach {
    /// That into `stage`; `passes` says whether the gradient of what it leaves is needed.
    pub(super) fn into(stage: &Stage, passes: bool) -> Reach {
        match (stage.learns(), passes) {
            (true, _) => Reach::Learns,
            (false, true) => Reach::Through,
            (false, false) => Reach::Ends,
        }
    }
}

/// How a map lies that stages read.
#[derive(Clone, Copy)]
pub(super) struct Read {
    /// The storage in which it lies.
    pub(super) storage: usize,
    /// What one input of the batch is in it.
    pub(super) shape: Shape,
    /// Whether the backward pass computes its gradient.
    pub(super) needs_gradient: bool,
    /// Whether a sequence lies in memory with its places first, `[L, N, features]`.
    pub(super) places_first: bool,
}

/// All storages of a step by their index, and in which of them each map lies.
pub(in crate::model) struct Storages {
    pub(in crate::model) storages: Vec<Storage>,
    maps: Vec<Read>,
    /// How far the backward pass comes into the stage that runs.
    reach: Reach,
}

impl Storage {
    /// Whether a node of this stage keeps it.
    pub(in crate::model) fn is_kept_by(&self, stage: usize) -> bool {
        self.keepers.iter().any(|keeper| keeper.stage == stage)
    }

    /// Whether the program itself holds it until the backward pass has ended: it is the loss.
    pub(in crate::model) fn is_held_by_program(&self) -> bool {
        self.keepers.iter().any(|keeper| keeper.rule.node.is_none())
    }
}

impl Storages {
    /// Nothing but the input, which is map 0.
    pub(super) fn with_input(bytes: u64, shape: Shape) -> Storages {
        let storages = vec![Storage { owner: None, bytes, made_by: 0, keepers: Vec::new() }];
        Storages {
            storages,
            maps: vec![Read { storage: 0, shape, needs_gradient: false, places_first: false }],
            reach: Reach::Learns,
        }
    }

    /// The index of the storage of the map of this number; there is none behind the last map.
    pub(in crate::model) fn of_map(&self, map: usize) -> Option<usize> {
        self.maps.get(map).map(|map| map.storage)
    }

    /// The stage that runs: each before it has left a map.
    fn stage(&self) -> usize {
        self.maps.len() - 1
    }

    /// The backward pass will come so far into the stage that runs next.
    pub(super) fn reach(&mut self, reach: Reach) {
        self.reach = reach;
    }

    /// Whether the stage that runs has a node in the graph.
    pub(super) fn has_node(&self) -> bool {
        self.reach != Reach::Ends
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
        let made_by = self.stage();
        self.storages.push(Storage { owner: Some(owner.to_owned()), bytes, made_by, keepers: Vec::new() });
        self.storages.len() - 1
    }

    /// Marks a storage as kept by the graph under a rule, if the stage that runs has a node there. It may be marked twice.
    pub(super) fn keep(&mut self, storage: usize, rule: &'static Rule) {
        if !self.has_node() {
            return;
        }
        let keeper = Keeper { stage: self.stage(), rule };
        let keepers = &mut self.storages[storage].keepers;
        if !keepers.contains(&keeper) {
            keepers.push(keeper);
        }
    }

    /// The same of what only the gradient of the stage's parameters is computed from, where libtorch makes that difference: a
    /// stage that learns nothing keeps nothing then.
    pub(super) fn keep_to_learn(&mut self, storage: usize, rule: &'static Rule) {
        if self.reach == Reach::Learns {
            self.keep(storage, rule);
        }
    }

    /// Adds a storage that a stage keeps from the start which learns, and one that is frozen not at all.
    pub(super) fn allocate_kept_to_learn(&mut self, owner: &str, bytes: u64, rule: &'static Rule) {
        let storage = self.allocate(owner, bytes);
        self.keep_to_learn(storage, rule);
    }

    /// Adds a storage that the graph keeps from the start, and returns its index.
    pub(super) fn allocate_kept(&mut self, owner: &str, bytes: u64, rule: &'static Rule) -> usize {
        let storage = self.allocate(owner, bytes);
        self.keep(storage, rule);
        storage
    }

    /// Bytes that the graph keeps, by who allocated them.
    pub(super) fn kept_by_owner(self) -> BTreeMap<String, u64> {
        let mut by_owner = BTreeMap::new();
        for storage in self.storages.into_iter().filter(|storage| !storage.keepers.is_empty()) {
            if let Some(owner) = storage.owner {
                *by_owner.entry(owner).or_default() += storage.bytes;
            }
        }
        by_owner
    }
}
