//! Blocks that live and die while a step is walked through, and what was live at each instant.
use alloc_timeline::Category;

/// A phase of a step, by the name that it has in the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase(pub(super) &'static str);

impl Phase {
    pub(super) const INIT: Phase = Phase("init");
    pub(super) const DATA: Phase = Phase("data");
    pub(super) const FORWARD: Phase = Phase("forward");
    pub(super) const LOSS: Phase = Phase("loss");
    pub(super) const BACKWARD: Phase = Phase("backward");
    pub(super) const OPTIMIZER: Phase = Phase("optimizer");

    /// The name in the timeline.
    pub fn name(self) -> &'static str {
        self.0
    }
}

/// Who owns a block: the phase and the layer that allocated it, and what it is for. A layer is meant by its number in the
/// step's list of [`Layers`](super::layers::Layers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub phase: Phase,
    pub layer: usize,
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
    /// The layer that runs, by its number.
    pub layer: usize,
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
    pub(super) fn allocate(&mut self, phase: Phase, layer: usize, category: Category, bytes: u64) -> Id {
        let owner = Owner { phase, layer, category };
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
    pub(super) fn look(&mut self, phase: Phase, layer: usize) {
        self.instants.push(Instant { phase, layer, bytes: self.bytes });
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
        let first = live.allocate(Phase::FORWARD, 0, Category::Activation, 100);
        live.look(Phase::FORWARD, 0);
        let second = live.allocate(Phase::FORWARD, 1, Category::Activation, 10);
        live.hold(first);
        live.release(first);
        live.look(Phase::FORWARD, 1);
        live.release(first);
        live.look(Phase::FORWARD, 2);
        assert!(live.is_held_once(second));
        let bytes: Vec<u64> = live.instants().iter().map(|instant| instant.bytes).collect();
        assert_eq!(bytes, [100, 110, 10]);
        for (instant, sum) in bytes.into_iter().enumerate() {
            assert_eq!(live.at(instant).map(|(_, bytes)| bytes).sum::<u64>(), sum);
        }
    }
}
