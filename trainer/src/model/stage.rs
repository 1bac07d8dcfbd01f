//! A network as a list of named stages, and the pen that writes such lists.
//!
//! Each stage reads one or more maps and leaves one. Map 0 is the network's input, map n what stage n leaves, counted from
//! 1. A map is freed after the last stage that reads it.
//!
//! ```text
//! stage  name                    reads   leaves
//! 5      layer1.0.conv1          4       5
//! ...
//! 9      layer1.0.bn2            8       9
//! 10     layer1.0 (the sum)      9, 4    10, in the storage of 9
//! ```
//!
//! Names are those of the PyTorch modules, whole from the root, because each stage is entered as one layer scope.
use super::op::{Op, Place};

/// A map, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Map(pub usize);

/// The network's input.
pub const INPUT: Map = Map(0);

/// One named step of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The PyTorch module's name: `layer1.0.conv1`. A module that runs twice has two stages of one name.
    pub name: String,
    /// What it does.
    pub op: Op,
    /// The maps that it reads.
    pub reads: Vec<Map>,
}

/// For each map, the index of the last stage that reads it; `None` for the last map, and for one that nobody reads.
pub fn last_readers(stages: &[Stage]) -> Vec<Option<usize>> {
    let mut last = vec![None; stages.len() + 1];
    for (index, stage) in stages.iter().enumerate() {
        for map in &stage.reads {
            last[map.0] = Some(index);
        }
    }
    last
}

/// Writes a list of stages: a chain that each new stage prolongs, and from which others branch off.
#[derive(Debug, Default)]
pub(super) struct Chain {
    stages: Vec<Stage>,
    /// What the next stage reads.
    end: usize,
}

impl Chain {
    /// The map at the end of the chain.
    pub(super) fn end(&self) -> Map {
        Map(self.end)
    }

    /// Goes back to `map`: the next stage reads that.
    pub(super) fn branch(&mut self, map: Map) {
        self.end = map.0;
    }

    /// A stage that reads the end of the chain.
    pub(super) fn then(&mut self, name: impl Into<String>, op: Op) -> Map {
        self.stage(name, op, vec![self.end()])
    }

    /// The end of the chain and `other` are added up.
    pub(super) fn add(&mut self, name: impl Into<String>, other: Map, place: Place) -> Map {
        self.stage(name, Op::Add(place), vec![self.end(), other])
    }

    /// `maps`, one behind the other.
    pub(super) fn concat(&mut self, name: impl Into<String>, maps: Vec<Map>) -> Map {
        self.stage(name, Op::Concat, maps)
    }

    /// The list.
    pub(super) fn into_stages(self) -> Vec<Stage> {
        self.stages
    }

    fn stage(&mut self, name: impl Into<String>, op: Op, reads: Vec<Map>) -> Map {
        self.stages.push(Stage { name: name.into(), op, reads });
        self.end = self.stages.len();
        self.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_reads_what_it_left() {
        let mut chain = Chain::default();
        let stem = chain.then("stem", Op::conv(3, 8, 3, 1, 1));
        let left = chain.then("left", Op::BatchNorm { channels: 8 });
        chain.branch(stem);
        chain.then("right", Op::BatchNorm { channels: 8 });
        chain.add("sum", left, Place::InPlace);
        let stages = chain.into_stages();
        let reads: Vec<Vec<usize>> = stages.iter().map(|stage| stage.reads.iter().map(|map| map.0).collect()).collect();
        assert_eq!(reads, [vec![0], vec![1], vec![1], vec![3, 2]]);
        assert_eq!(last_readers(&stages), [Some(0), Some(2), Some(3), Some(3), None]);
    }
}
