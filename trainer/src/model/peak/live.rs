//! Blocks that live and die while a step is walked through, and what was live at each instant.
use alloc_timeline::Category;

/// The phases of a step in their order, as the trainer names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Init,
    Data,
    Forward,
    Loss,
    Backward,
    Optimizer,
}

impl Phase {
    /// The name in the timeline.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Init => "init",
            Phase::Data => "data",
            Phase::Forward => "forward",
            Phase::Loss => "loss",
            Phase::Backward => "backward",
            Phase::Optimizer => "optimizer",
        }
    }
}

/// Who owns a block: the phase and the stage that allocated it (the loss is one behind the last, and what is made in no layer
/// one behind the loss), and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    pub phase: Phase,
    pub stage: usize,
    pub category: Category,
}

/// A block's index.
pub(super) type Id = usize;

struct Block {
    owner: Owner,
    bytes: u64,
    /// Who needs it still; at 0 it is freed.
    holders: usize,
    /// The number of instants that were looked at before it was born, and before it died.
    born: usize,
    died: Option<usize>,
}

/// A moment at which an operator has allocated everything and freed nothing yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant {
    pub phase: Phase,
    pub stage: usize,
    /// Bytes then live.
    pub bytes: u64,
}

/// All blocks of a step, and all instants.
#[derive(Default)]
pub(super) struct Live {
    blocks: Vec<Block>,
    bytes: u64,
    instants: Vec<Instant>,
}

impl Live {
    /// A new block with one holder.
    pub(super) fn allocate(&mut self, phase: Phase, stage: usize, category: Category, bytes: u64) -> Id {
        let owner = Owner { phase, stage, category };
        self.blocks.push(Block { owner, bytes, holders: 1, born: self.instants.len(), died: None });
        self.bytes += bytes;
        self.blocks.len() - 1
    }

    /// One more holder.
    pub(super) fn hold(&mut self, id: Id) {
        self.blocks[id].holders += 1;
    }

    /// One holder less; without any the block is freed.
    pub(super) fn release(&mut self, id: Id) {
        let block = &mut self.blocks[id];
        block.holders -= 1;
        if block.holders == 0 {
            block.died = Some(self.instants.len());
            self.bytes -= block.bytes;
        }
    }

    /// Whether one holder is left, who may write over it.
    pub(super) fn is_held_once(&self, id: Id) -> bool {
        self.blocks[id].holders == 1
    }

    /// Notes what is live now.
    pub(super) fn look(&mut self, phase: Phase, stage: usize) {
        self.instants.push(Instant { phase, stage, bytes: self.bytes });
    }

    /// All instants, in order.
    pub(super) fn instants(&self) -> &[Instant] {
        &self.instants
    }

    /// The blocks that were live at the instant of this number.
    pub(super) fn at(&self, instant: usize) -> impl Iterator<Item = (Owner, u64)> {
        let lived = move |block: &&Block| block.born <= instant && block.died.is_none_or(|died| died > instant);
        self.blocks.iter().filter(lived).map(|block| (block.owner, block.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_live_at_an_instant() {
        let mut live = Live::default();
        let first = live.allocate(Phase::Forward, 0, Category::Activation, 100);
        live.look(Phase::Forward, 0);
        let second = live.allocate(Phase::Forward, 1, Category::Activation, 10);
        live.hold(first);
        live.release(first);
        live.look(Phase::Forward, 1);
        live.release(first);
        live.look(Phase::Forward, 2);
        assert!(live.is_held_once(second));
        let bytes: Vec<u64> = live.instants().iter().map(|instant| instant.bytes).collect();
        assert_eq!(bytes, [100, 110, 10]);
        for (instant, sum) in bytes.into_iter().enumerate() {
            assert_eq!(live.at(instant).map(|(_, bytes)| bytes).sum::<u64>(), sum);
        }
    }
}
