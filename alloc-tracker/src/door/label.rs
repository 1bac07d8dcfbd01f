//! What others know of a block: that it will be a tensor's storage, what it is for, who owns it.
use std::sync::atomic::Ordering;

use alloc_timeline::Category;

use super::cold::{self, Tag, WIDE_MIN};
use super::resize;
use crate::event::{Event, Kind};
use crate::ledger::slot::Slot;
use crate::ledger::{pool, publish};
use crate::mode::{Mode, mode};
use crate::scope::as_tracker;
use crate::tag::block;
use crate::tag::scope::{self, NameId, Parts, ScopeId, TRACKER};
use crate::tag::shadow::Place;

/// The tag of the live block that starts at `block`; `None` for addresses that no tracked block starts at.
fn find(block: *const u8) -> Option<(Place, Tag)> {
    if mode() == Mode::Off || block.is_null() {
        return None;
    }
    cold::find(block)
}

/// The scope that allocated the block at `block`.
pub fn owner(block: *const u8) -> Option<ScopeId> {
    if mode() == Mode::Off || block.is_null() {
        return None;
    }
    block::find(block.addr()).map(|(_, tag)| tag.scope())
}

/// Usable and requested bytes of the block at `block`.
pub fn sizes(block: *const u8) -> Option<(usize, usize)> {
    find(block).map(|(_, tag)| (tag.usable, tag.requested))
}

/// Says that the next aligned block that this thread allocates is a tensor's storage, or takes that back.
pub fn expect_storage(expected: bool) {
    if let Some(slot) = pool::acquire() {
        slot.storage.store(u32::from(expected), Ordering::Relaxed);
    }
}

/// Says what the block at `block` is for, for its whole life; a block that was allocated in no layer becomes `layer`'s (0:
/// nobody's). `false` when no recorder can take it in: the block is unknown, smaller than 64 bytes, or nobody records.
pub fn label(block: *mut u8, category: Category, layer: NameId) -> bool {
    if !publish::recording() {
        return false;
    }
    let Some((place, tag)) = find(block) else { return false };
    let slot = pool::acquire();
    if !tag.identified && !promote(slot, place, block, &tag) {
        return false;
    }
    let number = Category::ALL.iter().position(|&known| known == category).unwrap_or_default();
    let (a, b) = (block.addr() as u64, number as u64);
    let parts = scope::parts(tag.scope);
    let mut owner = tag.scope;
    if parts.layer == 0 && layer != 0 {
        let intern = || scope::scope(Parts { layer, ..parts });
        owner = slot.map_or_else(intern, |slot| as_tracker(slot, intern));
        // Promoted or not, the tag is a wide one now.
        if let Some((place, _)) = block::find(block.addr()) {
            place.store_wide(owner, tag.requested, true);
        }
    }
    publish::emit(slot, Event { kind: Kind::Labelled, scope: owner, a, b, ..Event::default() })
}

/// Moves a block from the small lane to those that the recorder knows by address.
fn promote(slot: Option<&Slot>, place: Place, block: *mut u8, tag: &Tag) -> bool {
    if tag.usable < WIDE_MIN || tag.scope == TRACKER {
        return false;
    }
    let Some(wide) = cold::wide_place(block, tag.usable) else { return false };
    if tag.ordered() {
        // It is in order already; from now on the recorder knows it by its address, if it did not before.
        let token = publish::token();
        let (a, b, c) = (block.addr() as u64, tag.usable as u64, tag.requested as u64);
        let taken = Event { kind: Kind::Taken, scope: tag.scope, a, b, c, e: token, ..Event::default() };
        place.clear();
        wide.store_wide(tag.scope, tag.requested, true);
        return publish::emit(slot, taken) && publish::emit(slot, Event { kind: Kind::Put, ..taken });
    }
    if !cold::identify(slot, Kind::Adopted, block, tag.scope, [tag.usable, tag.requested], false) {
        return false;
    }
    place.clear();
    wide.store_wide(tag.scope, tag.requested, true);
    resize::leave_small_lane(slot, tag);
    true
}

/// The number of the outermost operator's call that runs on this thread; 0 when none does.
pub fn set_op_call(call: u64) {
    if let Some(slot) = pool::acquire() {
        slot.op_call.store(call, Ordering::Relaxed);
    }
}
