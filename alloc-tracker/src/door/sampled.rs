//! The lane is full with a block that may be sampled: while lanes are open, its word is full with the block into which the thread's next
//! sample point falls (`ledger/slot.rs`).
use alloc_replay::Counts;

use super::count;
use super::tagged::TaggedBlock;
use crate::ledger;
use crate::stacks;

/// Empties the calling thread's lane, which is full with `block`. If the block is due, it is sampled. Returns the block, or the one that it
/// has moved to.
pub fn empty_lane(block: *mut u8) -> *mut u8 {
    let Some(slot) = ledger::acquire() else { return block };
    let due = if stacks::is_due(Some(slot), 0, slot.scope()) { TaggedBlock::find(block) } else { None };
    let block = due.map_or(block, |TaggedBlock { entries, scope, size, .. }| {
        entries.clear();
        // It is counted once more, with its new tag. An announced category is another block's.
        slot.add(scope, &-Counts::allocation(size));
        let announced = slot.take_announced();
        let block = count::sampled(Some(slot), block, size, scope);
        slot.announce(announced);
        block
    });
    ledger::empty_lane();
    block
}
