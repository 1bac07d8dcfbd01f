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
use crate::model::op::{Op, Place};

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
    /// The maps that it reads, one at least.
    pub reads: Vec<Map>,
    /// Whether its parameters stay as they are in a step: no gradient is computed for them.
    pub frozen: bool,
}

impl Stage {
    /// Whether it has parameters, and a step changes them.
    pub fn learns(&self) -> bool {
        !self.frozen && self.op.parameters() > 0
    }
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

/// For each map whether the backward pass computes its gradient: something before it learns. `of_input` says it of the
/// network's input; data needs none.
pub fn needs_gradient(stages: &[Stage], of_input: bool) -> Vec<bool> {
    let mut needs = vec![of_input];
    for stage in stages {
        needs.push(stage.learns() || stage.reads.iter().any(|map| needs[map.0]));
    }
    needs
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
        self.read(name, op, vec![self.end()])
    }

    /// Stages one behind the other, as `nn.Sequential` names them: `prefix.first`, then `prefix.first+1`, and so on.
    pub(super) fn sequence(&mut self, prefix: &str, first: usize, ops: impl IntoIterator<Item = Op>) -> Map {
        for (index, op) in (first..).zip(ops) {
            self.then(format!("{prefix}.{index}"), op);
        }
        self.end()
    }

    /// The end of the chain and a shortcut are added up. The shortcut is `before`, behind the stages of `projection` if there
    /// are any.
    pub(super) fn residual(
        &mut self,
        name: impl Into<String>,
        before: Map,
        projection: Vec<(String, Op)>,
        place: Place,
    ) -> Map {
        let main = self.end();
        self.branch(before);
        for (name, op) in projection {
            self.then(name, op);
        }
        let shortcut = self.end();
        self.branch(main);
        self.add(name, shortcut, place)
    }

    /// The end of the chain and `other` are added up.
    pub(super) fn add(&mut self, name: impl Into<String>, other: Map, place: Place) -> Map {
        self.read(name, Op::Add(place), vec![self.end(), other])
    }

    /// `maps`, one behind the other.
    pub(super) fn concat(&mut self, name: impl Into<String>, maps: Vec<Map>) -> Map {
        self.read(name, Op::Concat, maps)
    }

    /// The list.
    pub(super) fn into_stages(self) -> Vec<Stage> {
        self.stages
    }

    /// A stage that reads `reads`, one map at least.
    pub(super) fn read(&mut self, name: impl Into<String>, op: Op, reads: Vec<Map>) -> Map {
        self.stages.push(Stage { name: name.into(), op, reads, frozen: false });
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

    /// The left branch learns, the right one is frozen like the stem: the sum needs a gradient because of the left one.
    #[test]
    fn gradients_go_no_further_than_to_what_learns() {
        let mut chain = Chain::default();
        let stem = chain.then("stem", Op::conv(3, 8, 3, 1, 1));
        let left = chain.then("left", Op::BatchNorm { channels: 8 });
        chain.branch(stem);
        chain.then("right", Op::BatchNorm { channels: 8 });
        chain.add("sum", left, Place::InPlace);
        let mut stages = chain.into_stages();
        assert_eq!(needs_gradient(&stages, false), [false, true, true, true, true]);
        (stages[0].frozen, stages[2].frozen) = (true, true);
        assert_eq!(needs_gradient(&stages, false), [false, false, true, false, true]);
        assert_eq!(needs_gradient(&stages, true), [true; 5]);
        assert!(stages[1].learns() && !stages[2].learns() && !stages[3].learns());
    }

    #[test]
    fn a_shortcut_may_go_through_stages_of_its_own() {
        let mut chain = Chain::default();
        let before = chain.then("stem", Op::conv(3, 8, 3, 1, 1));
        chain.sequence("main", 1, [Op::Relu(Place::New), Op::conv(8, 8, 3, 1, 1)]);
        chain.residual("sum", before, vec![("skip".to_owned(), Op::conv(8, 8, 1, 1, 0))], Place::New);
        let stages = chain.into_stages();
        let told: Vec<(&str, Vec<usize>)> =
            stages.iter().map(|stage| (stage.name.as_str(), stage.reads.iter().map(|map| map.0).collect())).collect();
        let expected =
            [("stem", vec![0]), ("main.1", vec![1]), ("main.2", vec![2]), ("skip", vec![1]), ("sum", vec![3, 4])];
        assert_eq!(told, expected);
    }
}
