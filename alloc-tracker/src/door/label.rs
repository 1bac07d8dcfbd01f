//! Questions about a block (who owns it, how large it is) and statements about it (its category: announced before the
//! block is allocated, or attached as a label afterwards).
use alloc_replay::{BlockSize, Event, NameId, Parts, READ_AT_ONCE, ScopeId, TRACKER};
use alloc_timeline::Category;

use super::count::{self, Arrival};
use super::tagged::{self, FOLLOWED_MIN, TaggedBlock};
use crate::devices;
use crate::ledger::{self, Slot, publish};
use crate::scope;
use crate::settings::{Mode, exact, mode};
use crate::tag::block::{self, Tag};

/// Why a block could not be labelled.
///
/// ```
/// use alloc_tracker::{Category, hooks};
///
/// let mut weights = vec![0u8; 4096];
/// let labelled = hooks::label(weights.as_mut_ptr(), Category::Parameter, None);
/// assert_eq!(labelled, Err(hooks::LabelError::NotRecording), "no session has been started");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// No session records, so the label would be lost.
    #[error("no session is recording: start one before labelling")]
    NotRecording,
    /// No block of the program starts at the address. It may be one of a GPU's memory of which nobody told, or of an
    /// allocator that is not tracked, or the tracker's own.
    #[error("no tracked block of the program starts at this address")]
    UnknownBlock,
    /// The block has less than 64 bytes, too few to be followed by its address.
    #[error("the block is smaller than 64 bytes, too small to be followed")]
    TooSmall,
    /// The kernel gives no memory for the tag of a block that is followed.
    #[error("there is no memory for the block's tag")]
    NoMemory,
}

/// The live block that starts at `block`; `None` when no tracked block starts there.
fn find(block: *mut u8) -> Option<TaggedBlock> {
    if mode() == Mode::Off || block.is_null() {
        return None;
    }
    TaggedBlock::find_start(block)
}

/// The scope that owns the block at `block`, which may be a device's; `None` when no tracked block starts there.
pub fn owner(block: *const u8) -> Option<ScopeId> {
    if mode() == Mode::Off || block.is_null() {
        return None;
    }
    block::find_start(block.addr()).map(|(_, tag)| tag.scope()).or_else(|| devices::owner(block.addr() as u64))
}

/// The size of the block at `block`; `None` when no tracked block starts there.
pub fn size(block: *const u8) -> Option<BlockSize> {
    find(block.cast_mut()).map(|tagged| tagged.size)
}

/// Announces the category of the next block that this thread allocates on the cold path, as all blocks with a large
/// alignment are. `None` takes the announcement back.
pub fn announce(category: Option<Category>) {
    if let Some(slot) = ledger::acquire() {
        slot.announce(category);
    }
}

/// Labels the block at `block` with a category, for its whole life. If the block was allocated in no layer, or in one that `gives_way`
/// says yes to, it also becomes the layer `layer`'s; 0 stands for no layer.
///
/// # Errors
/// When no session records, when no tracked block starts there, or when the block is too small to be followed.
pub fn label(
    block: *mut u8,
    category: Category,
    layer: NameId,
    gives_way: impl FnOnce(NameId) -> bool,
) -> Result<(), LabelError> {
    if !publish::recording() {
        return Err(LabelError::NotRecording);
    }
    let Some(tagged) = find(block) else {
        let labelled = devices::label(block.addr() as u64, category, layer, gives_way);
        return if labelled { Ok(()) } else { Err(LabelError::UnknownBlock) };
    };
    let slot = ledger::acquire();
    if !tagged.followed {
        follow(slot, &tagged)?;
    }
    let parts = scope::parts(tagged.scope);
    let mut owner = tagged.scope;
    if layer != 0 && (parts.layer == 0 || gives_way(parts.layer)) {
        owner = ledger::as_tracker(|| scope::scope_as_old_as(tagged.scope, Parts { layer, ..parts }));
        // The block is followed by now, so its tag is a wide one.
        if let Some(entries) = tagged::wide_entries(tagged.address, tagged.size.usable) {
            TaggedBlock { scope: owner, ..tagged }.store_followed(entries);
        }
    }
    let event = Event::Labelled { scope: owner, address: block.addr() as u64, category };
    if ledger::emit(slot, &event) { Ok(()) } else { Err(LabelError::NotRecording) }
}

/// Makes the recorder follow a block that is counted in batches so far.
fn follow(slot: Option<&Slot>, block: &TaggedBlock) -> Result<(), LabelError> {
    let &TaggedBlock { address, scope, size, .. } = block;
    if scope == TRACKER {
        return Err(LabelError::UnknownBlock);
    }
    if size.usable < FOLLOWED_MIN {
        return Err(LabelError::TooSmall);
    }
    let entries = tagged::wide_entries(address, size.usable).ok_or(LabelError::NoMemory)?;
    if block.is_ordered() {
        // In exact mode the recorder knows the block by its address already, but a tag that is not wide does not say
        // so.
        let (token, address) = (publish::token(), address.addr() as u64);
        block.entries.clear();
        block.store_followed(entries);
        let told = ledger::emit(slot, &Event::ResizeBegan { scope, address, size, token })
            && ledger::emit(slot, &Event::ResizeEnded { address: Some(address), size, token });
        return if told { Ok(()) } else { Err(LabelError::NotRecording) };
    }
    if !count::tell_of(slot, address, size, scope, Arrival::Adopted, None) {
        return Err(LabelError::NotRecording);
    }
    block.entries.clear();
    block.store_followed(entries);
    // The block is no longer counted in batches.
    ledger::add(slot, scope, &-alloc_replay::Counts::take_over(size));
    Ok(())
}

/// An operator of this thread that reads these blocks ends. Only blocks that the recorder follows are told of.
pub fn read(blocks: impl IntoIterator<Item = *const u8>) {
    if !publish::recording() {
        return;
    }
    let mut followed = blocks.into_iter().filter(|&block| is_followed(block)).map(|block| block.addr() as u64).fuse();
    loop {
        let addresses: [u64; READ_AT_ONCE] = std::array::from_fn(|_| followed.next().unwrap_or(0));
        if addresses[0] == 0 {
            return;
        }
        let slot = ledger::acquire();
        let scope = slot.map_or_else(ledger::scope_without_slot, Slot::scope);
        // One that is lost is counted with the dropped events.
        let _ = ledger::emit(slot, &Event::Read { scope, addresses });
    }
}

/// Whether the recorder follows the block that starts at this address.
fn is_followed(block: *const u8) -> bool {
    let tag = if block.is_null() { None } else { block::find(block.addr()) };
    tag.is_some_and(|(_, tag)| matches!(tag, Tag::Wide(wide) if wide.followed) || exact())
}

/// The number of the call of an outermost operator that runs on this thread; 0 when none runs.
pub fn op_call() -> u64 {
    ledger::acquire().map_or(0, |slot| slot.op_call.load(std::sync::atomic::Ordering::Relaxed))
}

/// Sets the number of the call of an outermost operator that runs on this thread; 0 when none runs. Returns the one before.
pub fn set_op_call(call: u64) -> u64 {
    let Some(slot) = ledger::acquire() else { return 0 };
    // The slot is this thread's: nobody writes in between.
    let before = slot.op_call.load(std::sync::atomic::Ordering::Relaxed);
    slot.op_call.store(call, std::sync::atomic::Ordering::Relaxed);
    before
}
