//! A group: the sum of all accounts of one phase, one layer, one operator, one category, or one layer in one phase; its
//! own peak, what else was alive then, and what was left of it when its phase and the step were over.
//!
//! What was left is remembered without looking at all groups at every end: an end only bumps a number, and a group that
//! changes for the first time after it puts its old amount aside.
use alloc_timeline::{Category, Dimension};

use super::account::Amount;
use crate::tag::scope::NameId;

/// Phases that are told apart in what else was alive; all further ones are one.
pub const PHASES: usize = 16;

/// What the accounts of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A name in one dimension; for categories its number.
    Named(Dimension, u32),
    /// A layer in a phase.
    Cell {
        /// The phase's name.
        phase: NameId,
        /// The layer's name.
        layer: NameId,
    },
}

/// Live bytes of the whole process, split in two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alive {
    /// By phase, in the order in which they were first seen.
    pub phases: [i64; PHASES],
    /// By category.
    pub categories: [i64; Category::ALL.len()],
}

impl Alive {
    /// Adds `bytes` of the phase that was seen as number `phase`.
    pub fn add(&mut self, phase: u32, category: Category, bytes: i64) {
        self.phases[(phase as usize).min(PHASES - 1)] += bytes;
        self.categories[category as usize] += bytes;
    }
}

/// The highest point of a group.
#[derive(Clone, Copy, Debug, Default)]
pub struct High {
    pub usable: i64,
    pub requested: i64,
    pub time_ns: u64,
    /// Live bytes of the process then.
    pub process: i64,
    /// Their splits.
    pub alive: Alive,
}

/// An amount at the latest end of something: the phase, the step.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    /// How many ends there had been when it was put aside.
    ends: u64,
    usable: i64,
}

impl Left {
    fn put_aside(&mut self, ends: u64, usable: i64) {
        if self.ends != ends {
            *self = Left { ends, usable };
        }
    }

    /// What was left at the last of `ends`; `None` when there was none.
    fn at(&self, ends: u64, live: i64) -> Option<i64> {
        (ends > 0).then_some(if self.ends == ends { self.usable } else { live })
    }
}

/// See the module's description.
#[derive(Clone, Debug)]
pub struct Group {
    pub key: Key,
    pub live: Amount,
    pub high: High,
    /// Usable bytes of the largest block known by address.
    pub largest: i64,
    /// The number of its phase, for those that have one.
    pub phase: Option<u32>,
    phase_end: Left,
    step_end: Left,
}

impl Group {
    pub fn new(key: Key, phase: Option<u32>) -> Self {
        let (phase_end, step_end) = Default::default();
        Group { key, live: Amount::default(), high: High::default(), largest: 0, phase, phase_end, step_end }
    }

    /// Adds `amount`. So far its phase has ended `phase_ends` times and `step_ends` steps have.
    pub fn change(&mut self, amount: Amount, phase_ends: u64, step_ends: u64) {
        self.phase_end.put_aside(phase_ends, self.live.usable);
        self.step_end.put_aside(step_ends, self.live.usable);
        self.live.add(amount);
    }

    /// What was left when its phase last ended.
    pub fn at_phase_end(&self, phase_ends: u64) -> Option<i64> {
        self.phase_end.at(phase_ends, self.live.usable)
    }

    /// What was left when the last step ended.
    pub fn at_step_end(&self, step_ends: u64) -> Option<i64> {
        self.step_end.at(step_ends, self.live.usable)
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
        let mut group = Group::new(Key::Named(Dimension::Phase, 1), Some(0));
        group.change(amount(100), 0, 0);
        assert_eq!((group.at_phase_end(0), group.at_phase_end(1)), (None, Some(100)), "nothing happened since the end");
        group.change(amount(-40), 1, 0);
        group.change(amount(-60), 1, 0);
        assert_eq!(group.at_phase_end(1), Some(100), "what happened after the end does not count");
        assert_eq!(group.at_phase_end(2), Some(0));
        group.change(amount(7), 4, 1);
        assert_eq!(group.at_phase_end(4), Some(0), "three ends in a row without a change in between");
        assert_eq!(group.at_step_end(1), Some(0));
    }
}
