//! The operations of a training step, in order.
//!
//! ```text
//!            needs                              makes                       lets go
//! Forward    the map before                     its map, or also its graph  the map before, if it keeps nothing
//! Backward   its graph, the map before, the     the gradient of the map     its graph, both maps, the gradient that it got
//!            gradient of its map                before
//! Drop       its map                                                        its map
//! ```
use std::fmt;

/// What a forward pass keeps besides its map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keep {
    /// Nothing: the map that it read is let go.
    Nothing,
    /// The map that it read, from which it can be run again: a *checkpoint*.
    Input,
    /// That, and all that its backward pass needs.
    All,
}

/// One operation on the stage of this index, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Computes the stage's map.
    Forward {
        /// The stage.
        stage: usize,
        /// What it keeps.
        keep: Keep,
    },
    /// Computes the gradients of the stage's parameters and of the map that it read.
    Backward {
        /// The stage.
        stage: usize,
    },
    /// Lets the stage's map go. What its graph keeps of it stays.
    Drop {
        /// The stage.
        stage: usize,
    },
}

impl Operation {
    /// The stage that it works on.
    pub fn stage(self) -> usize {
        match self {
            Operation::Forward { stage, .. } | Operation::Backward { stage } | Operation::Drop { stage } => stage,
        }
    }
}

/// The operations of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule(pub Vec<Operation>);

impl Schedule {
    /// Runs the stages of `range` forward from a kept input, and keeps nothing but that.
    pub(crate) fn run_through(&mut self, range: std::ops::Range<usize>) {
        let first = range.start;
        for stage in range {
            let keep = if stage == first { Keep::Input } else { Keep::Nothing };
            self.0.push(Operation::Forward { stage, keep });
        }
    }

    /// Runs the stages of `range` forward, saves all, and runs them backward. Nobody needs the map of the last one.
    pub(crate) fn save_and_reverse(&mut self, range: std::ops::Range<usize>) {
        self.0.extend(range.clone().map(|stage| Operation::Forward { stage, keep: Keep::All }));
        self.0.push(Operation::Drop { stage: range.end - 1 });
        self.0.extend(range.rev().map(|stage| Operation::Backward { stage }));
    }
}

/// One letter for each operation, with the number of its stage, counted from 1: `f` forward, `c` forward with a checkpoint
/// of what it read, `s` forward saving all, `b` backward, `d` drop.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, &operation) in self.0.iter().enumerate() {
            let letter = match operation {
                Operation::Forward { keep: Keep::Nothing, .. } => 'f',
                Operation::Forward { keep: Keep::Input, .. } => 'c',
                Operation::Forward { keep: Keep::All, .. } => 's',
                Operation::Backward { .. } => 'b',
                Operation::Drop { .. } => 'd',
            };
            let blank = if index == 0 { "" } else { " " };
            write!(f, "{blank}{letter}{}", operation.stage() + 1)?;
        }
        Ok(())
    }
}
