//! A group: the sum of all accounts of one phase, one layer, one operator, one category, or one layer in one phase. It has
//! a peak of its own, knows what else was live then, and what was left of it when its phase and the step last ended.
//!
//! What was left is remembered without looking at all groups at every end. An end only bumps a number; a group that
//! changes for the first time after it saves its old value first.
use alloc_timeline::{Category, Dimension, RetainedAt};

use crate::amount::Amount;
use crate::scope::NameId;

/// Phases that are kept apart in what else was live; all further ones are one.
pub const MOST_PHASES: usize = 16;

/// A group's number.
pub type GroupId = u32;

/// What the accounts of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupKey {
    /// A name in one dimension; for categories the category's number.
    Named(Dimension, u32),
    /// A layer in a phase.
    Place { phase: NameId, layer: NameId },
}

/// The groups that sum one account up.
#[derive(Clone, Copy, Debug)]
pub struct Memberships {
    /// By phase, layer, operator and category: the order of [`Dimension::ALL`].
    pub named: [GroupId; 4],
    /// By layer in a phase.
    pub place: GroupId,
}

impl Memberships {
    /// The group of the phase.
    pub fn phase(&self) -> GroupId {
        self.named[Dimension::Phase as usize]
    }

    /// All five.
    pub fn all(&self) -> [GroupId; 5] {
        let [phase, layer, op, category] = self.named;
        [phase, layer, op, category, self.place]
    }
}

/// Live bytes of the whole process, split in two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessSplit {
    /// By phase, in the order in which they were first seen.
    pub phases: [i64; MOST_PHASES],
    /// By category.
    pub categories: [i64; Category::ALL.len()],
}

impl ProcessSplit {
    /// Adds `bytes` of the phase that was seen as number `phase`.
    pub fn add(&mut self, phase: u32, category: Category, bytes: i64) {
        self.phases[(phase as usize).min(MOST_PHASES - 1)] += bytes;
        self.categories[category as usize] += bytes;
    }
}

/// The highest point of a group.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnPeak {
    pub usable: i64,
    pub requested: i64,
    pub time_ns: u64,
    /// Live bytes of the process then.
    pub process: i64,
    /// Their splits.
    pub split: ProcessSplit,
}

/// Usable bytes at the latest end of something that ends again and again: a phase, a step.
#[derive(Clone, Copy, Debug, Default)]
struct AtLastEnd {
    /// How many ends there had been when the bytes were saved.
    ends: u64,
    usable: i64,
}

impl AtLastEnd {
    fn save(&mut self, ends: u64, usable: i64) {
        if self.ends != ends {
            *self = AtLastEnd { ends, usable };
        }
    }

    /// What there was at the last of `ends`; `None` when there was no end.
    fn get(&self, ends: u64, live: i64) -> Option<i64> {
        (ends > 0).then_some(if self.ends == ends { self.usable } else { live })
    }
}

/// See the module's description.
#[derive(Clone, Debug)]
pub struct Group {
    pub key: GroupKey,
    pub live: Amount,
    pub peak: OwnPeak,
    /// Usable bytes of the largest followed block.
    pub largest: i64,
    /// The number of its phase, for those that have one.
    pub phase: Option<u32>,
    at_phase_end: AtLastEnd,
    at_step_end: AtLastEnd,
}

impl Group {
    pub fn new(key: GroupKey, phase: Option<u32>) -> Self {
        let (at_phase_end, at_step_end) = Default::default();
        Group { key, live: Amount::default(), peak: OwnPeak::default(), largest: 0, phase, at_phase_end, at_step_end }
    }

    /// Adds `amount`. So far its phase has ended `phase_ends` times and `step_ends` steps have.
    pub fn change(&mut self, amount: Amount, phase_ends: u64, step_ends: u64) {
        self.at_phase_end.save(phase_ends, self.live.usable);
        self.at_step_end.save(step_ends, self.live.usable);
        self.live += amount;
    }

    /// What was left when it was last over, and when that was: at the end of its phase; if that never ended, at the end
    /// of a step; if none ended, now.
    pub fn retained(&self, phase_ends: u64, step_ends: u64) -> (i64, RetainedAt) {
        let live = self.live.usable;
        match (self.at_phase_end.get(phase_ends, live), self.at_step_end.get(step_ends, live)) {
            (Some(bytes), _) => (bytes, RetainedAt::PhaseEnd),
            (None, Some(bytes)) => (bytes, RetainedAt::StepEnd),
            (None, None) => (live, RetainedAt::Now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(usable: i64) -> Amount {
        Amount { usable, requested: usable, blocks: 1 }
    }

    #[test]
    fn what_is_left_is_that_of_the_last_end() {
        let mut group = Group::new(GroupKey::Named(Dimension::Phase, 1), Some(0));
        group.change(amount(100), 0, 0);
        assert_eq!(group.retained(0, 0), (100, RetainedAt::Now));
        assert_eq!(group.retained(1, 0), (100, RetainedAt::PhaseEnd), "nothing happened since the end");
        group.change(amount(-40), 1, 0);
        group.change(amount(-60), 1, 0);
        assert_eq!(group.retained(1, 0), (100, RetainedAt::PhaseEnd), "what happened after the end does not count");
        assert_eq!(group.retained(2, 0), (0, RetainedAt::PhaseEnd));
        group.change(amount(7), 4, 1);
        assert_eq!(group.retained(4, 1), (0, RetainedAt::PhaseEnd), "three ends in a row without a change in between");
        assert_eq!(group.retained(0, 1), (0, RetainedAt::StepEnd));
    }
}
