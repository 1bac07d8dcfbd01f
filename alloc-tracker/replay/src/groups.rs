//! All groups: which there are, how often their phases and the steps ended, and how they follow the accounts.
use alloc_timeline::{Category, Dimension, RetainedAt};
use rustc_hash::FxHashMap;

use crate::amount::Amount;
use crate::group::{Group, GroupId, GroupKey, MOST_PHASES, Memberships, OwnPeak, ProcessSplit};
use crate::scope::{NameId, Parts, ScopeId};

/// A phase that was seen.
#[derive(Clone, Copy, Debug)]
struct Phase {
    name: NameId,
    /// How often it has been left.
    ends: u64,
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Groups {
    groups: Vec<Group>,
    index: FxHashMap<GroupKey, GroupId>,
    /// In the order in which they were first seen.
    phases: Vec<Phase>,
    /// The layer in a phase that each scope belongs to.
    places: Vec<Option<GroupId>>,
    /// Everything that is live.
    process: ProcessSplit,
    /// How many steps have ended.
    step_ends: u64,
}

impl Groups {
    /// All of them, by number.
    pub fn all(&self) -> &[Group] {
        &self.groups
    }

    /// Everything that is live, by phase and by category.
    #[cfg(test)]
    pub fn process(&self) -> &ProcessSplit {
        &self.process
    }

    /// The groups of an account; those that do not exist yet are made.
    pub fn join(&mut self, scope: ScopeId, parts: Parts, category: Category) -> Memberships {
        let phase = self.phase(parts.phase);
        let names = [parts.phase, parts.layer, parts.op, category as u32];
        let mut named = [0; 4];
        for ((group, dimension), name) in named.iter_mut().zip(Dimension::ALL).zip(names) {
            let phase = (dimension == Dimension::Phase).then_some(phase);
            *group = self.group(GroupKey::Named(dimension, name), phase);
        }
        Memberships { named, place: self.place_of(scope, || parts) }
    }

    /// The group of the layer and phase of `scope`. `parts` is asked at the first sight of the scope.
    pub fn place_of(&mut self, scope: ScopeId, parts: impl FnOnce() -> Parts) -> GroupId {
        let index = usize::from(scope);
        if let Some(&Some(place)) = self.places.get(index) {
            return place;
        }
        let Parts { phase, layer, .. } = parts();
        let number = self.phase(phase);
        let place = self.group(GroupKey::Place { phase, layer }, Some(number));
        if self.places.len() <= index {
            self.places.resize(index + 1, None);
        }
        self.places[index] = Some(place);
        place
    }

    fn group(&mut self, key: GroupKey, phase: Option<u32>) -> GroupId {
        *self.index.entry(key).or_insert_with(|| {
            self.groups.push(Group::new(key, phase));
            (self.groups.len() - 1) as GroupId
        })
    }

    /// The number of the phase called `name`: how many were seen before it.
    fn phase(&mut self, name: NameId) -> u32 {
        let seen = self.phases.iter().position(|phase| phase.name == name);
        let number = seen.unwrap_or_else(|| {
            self.phases.push(Phase { name, ends: 0 });
            self.phases.len() - 1
        });
        number as u32
    }

    /// Adds `amount` to the groups of an account of `category`.
    pub fn change(&mut self, of: &Memberships, category: Category, amount: Amount) {
        let phase = self.groups[of.phase() as usize].phase.unwrap_or(0);
        self.process.add(phase, category, amount.usable);
        for group in of.all() {
            let group = &mut self.groups[group as usize];
            let phase_ends = group.phase.map_or(0, |phase| self.phases[phase as usize].ends);
            group.change(amount, phase_ends, self.step_ends);
        }
    }

    /// Makes this moment the peak of those groups that hold at least `more` bytes more than at theirs. `process` are the
    /// live bytes of the process.
    pub fn raise(&mut self, of: &Memberships, more: i64, process: i64, time_ns: u64) {
        for group in of.all() {
            let group = &mut self.groups[group as usize];
            // What a block is for may be known only in the end: categories have no peaks of their own.
            let has_peak = !matches!(group.key, GroupKey::Named(Dimension::Category, _));
            if group.live.usable >= group.peak.usable + more && has_peak {
                let Amount { usable, requested, .. } = group.live;
                group.peak = OwnPeak { usable, requested, time_ns, process, split: self.process };
            }
        }
    }

    /// The groups have a followed block of `usable` bytes.
    pub fn note_block(&mut self, of: &Memberships, usable: i64) {
        for group in of.all() {
            let group = &mut self.groups[group as usize];
            group.largest = group.largest.max(usable);
        }
    }

    /// The phase called `name` was left.
    pub fn phase_left(&mut self, name: NameId) {
        let number = self.phase(name) as usize;
        self.phases[number].ends += 1;
    }

    /// A step ended.
    pub fn step_ended(&mut self) {
        self.step_ends += 1;
    }

    /// What was left of `group` when it was last over, and when that was.
    pub fn retained(&self, group: &Group) -> (i64, RetainedAt) {
        let phase_ends = group.phase.map_or(0, |phase| self.phases[phase as usize].ends);
        group.retained(phase_ends, self.step_ends)
    }

    /// The name of the phase with that number in a [`ProcessSplit`]; `None` for the number that stands for many.
    pub fn phase_name(&self, number: usize) -> Option<NameId> {
        self.phases.get(number).filter(|_| number + 1 < MOST_PHASES).map(|phase| phase.name)
    }
}
