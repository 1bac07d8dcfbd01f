//! The reference: the sums of a trace, computed in the simplest possible way, one order after the other.
use std::collections::BTreeMap;

use alloc_timeline::{Fate, Sums};

use crate::trace::{Operation, Order, Trace};

/// The recorder may count blocks up to this many bytes in batches; it follows larger ones.
const SMALL_MAX: u64 = 14_336;

/// Phase and layer.
pub type Place = (String, String);
/// Live usable and requested bytes and blocks.
pub type Held = BTreeMap<Place, [i64; 3]>;
/// The owner that made a block, what became of the block, and who freed it.
pub type Way = (Place, Fate, Option<Place>);

/// What one scope has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub allocations: u64,
    pub frees: u64,
    pub allocated_bytes: u64,
}

/// The figures of one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub live: i64,
    pub peak: i64,
    pub largest: u64,
    /// The live bytes when the phase was last left; `None` when it never was.
    pub retained: Option<i64>,
}

/// A step: its number, its peak, and what was live at its end.
pub type Step = (u64, i64, i64);

#[derive(Clone)]
struct Block {
    from: Place,
    requested: u64,
    usable: u64,
    /// How many steps had begun when the block was made.
    step: u64,
    /// Whether it has been large all its life.
    always_large: bool,
}

/// The sums of a trace.
#[derive(Default)]
pub struct Reference {
    blocks: BTreeMap<usize, Block>,
    stacks: BTreeMap<usize, Vec<Place>>,
    pub live: i64,
    pub held: Held,
    pub counts: BTreeMap<Place, Counts>,
    /// The most live bytes, and who held them then; of equal ones the latest.
    pub peak: (i64, Held),
    pub asked: [i64; 2],
    /// The most requested bytes, and how many blocks those were; of equal ones the latest.
    pub peak_requested: [i64; 2],
    /// What became of all blocks.
    pub flows: BTreeMap<Way, Sums>,
    /// What became of the blocks that were large all their life, which the recorder follows in every mode.
    pub large_flows: BTreeMap<Way, Sums>,
    pub phases: BTreeMap<String, Figures>,
    begun: u64,
    open: Option<(u64, i64)>,
    pub steps: Vec<Step>,
}

impl Reference {
    /// The sums of `trace`; `usable` has the usable bytes of the block of each order.
    pub fn of(trace: &Trace, usable: &[u64]) -> Reference {
        let mut reference = Reference::default();
        for (order, usable) in trace.orders.iter().zip(usable) {
            reference.order(order, *usable);
        }
        let held: Vec<Block> = reference.blocks.values().cloned().collect();
        for block in held {
            reference.flow(&block, Fate::Held, None);
        }
        reference.held.retain(|_, amounts| *amounts != [0; 3]);
        reference.peak.1.retain(|_, amounts| *amounts != [0; 3]);
        reference
    }

    fn scope(&self, thread: usize) -> Place {
        self.stacks.get(&thread).and_then(|stack| stack.last()).cloned().unwrap_or_default()
    }

    fn enter(&mut self, thread: usize, place: Place) {
        self.stacks.entry(thread).or_default().push(place);
    }

    fn order(&mut self, order: &Order, usable: u64) {
        let thread = order.thread;
        let (phase, layer) = self.scope(thread);
        match order.operation {
            Operation::Phase(number) => self.enter(thread, (format!("m{number}"), layer)),
            Operation::Layer(number) => self.enter(thread, (phase, format!("l{number}"))),
            Operation::Leave => {
                let left = self.stacks.get_mut(&thread).and_then(Vec::pop).expect("a scope to leave");
                if self.scope(thread).0 != left.0 {
                    let figures = self.phases.entry(left.0).or_default();
                    figures.retained = Some(figures.live);
                }
            }
            Operation::BeginStep => {
                self.end_step();
                self.begun += 1;
                self.open = Some((self.begun, self.live));
            }
            Operation::EndStep => self.end_step(),
            Operation::Make { place, requested, .. } => {
                let requested = requested as u64;
                let (from, step, always_large) = ((phase, layer), self.begun, requested > SMALL_MAX);
                self.counts.entry(from.clone()).or_default().allocations += 1;
                self.counts.entry(from.clone()).or_default().allocated_bytes += usable;
                let block = Block { from, requested, usable, step, always_large };
                self.count(&block, 1);
                self.blocks.insert(place, block);
            }
            Operation::Resize { place, requested, .. } => {
                let requested = requested as u64;
                let old = self.blocks.remove(&place).expect("a block to resize");
                let always_large = old.always_large && requested > SMALL_MAX;
                let new = Block { requested, usable, always_large, ..old.clone() };
                self.counts.entry(old.from.clone()).or_default().allocated_bytes += usable.saturating_sub(old.usable);
                self.change(&new, [usable as i64 - old.usable as i64, requested as i64 - old.requested as i64, 0]);
                self.blocks.insert(place, new);
            }
            Operation::Free { place, .. } => {
                let block = self.blocks.remove(&place).expect("a block to free");
                self.counts.entry(block.from.clone()).or_default().frees += 1;
                let to = (phase, layer);
                let fate = if to == block.from && block.step == self.begun { Fate::Temporary } else { Fate::Freed };
                self.flow(&block, fate, Some(to));
                self.count(&block, -1);
            }
        }
    }

    fn end_step(&mut self) {
        if let Some((number, peak)) = self.open.take() {
            self.steps.push((number, peak, self.live));
        }
    }

    fn flow(&mut self, block: &Block, fate: Fate, to: Option<Place>) {
        let sums = Sums { usable_bytes: block.usable, requested_bytes: block.requested, blocks: 1 };
        let way = (block.from.clone(), fate, to);
        if block.always_large {
            *self.large_flows.entry(way.clone()).or_default() += sums;
        }
        *self.flows.entry(way).or_default() += sums;
    }

    fn count(&mut self, block: &Block, sign: i64) {
        self.change(block, [sign * block.usable as i64, sign * block.requested as i64, sign]);
    }

    /// Adds `amounts` to what the owner of `block` holds, and updates the peaks.
    fn change(&mut self, block: &Block, amounts: [i64; 3]) {
        let held = self.held.entry(block.from.clone()).or_default();
        held.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += amount);
        self.live += amounts[0];
        self.asked[0] += amounts[1];
        self.asked[1] += amounts[2];
        if self.live >= self.peak.0 {
            self.peak = (self.live, self.held.clone());
        }
        if self.asked[0] >= self.peak_requested[0] {
            self.peak_requested = self.asked;
        }
        if let Some((_, peak)) = &mut self.open {
            *peak = self.live.max(*peak);
        }
        let figures = self.phases.entry(block.from.0.clone()).or_default();
        figures.live += amounts[0];
        figures.peak = figures.peak.max(figures.live);
        figures.largest = figures.largest.max(block.usable);
    }
}
