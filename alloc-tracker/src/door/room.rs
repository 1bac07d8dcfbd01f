//! Room for the tags of sampled blocks.
//!
//! Frees on the hot path do not look whether a block was sampled. So while lanes are open, a sampled block gets a wide tag, with which it
//! takes the cold path to its end. A block that is too small for such a tag moves to a larger one.
use std::ptr;

use alloc_replay::BlockSize;

use super::tagged::FOLLOWED_MIN;
use crate::backend;
use crate::stacks;
use crate::tag::class;

/// Whether a sampled block of this size can be followed: it has room for a wide tag, or none is needed.
pub fn can_follow(size: BlockSize) -> bool {
    size.usable >= FOLLOWED_MIN || !stacks::needs_wide_tags()
}

/// The usable bytes that a block of this size would have if it had not been moved.
pub fn unmoved_bytes(size: BlockSize) -> u64 {
    let may_have_moved = size.usable == FOLLOWED_MIN && stacks::needs_wide_tags() && backend::has_classes();
    if may_have_moved { class::usable(size.requested as usize) as u64 } else { size.usable }
}

/// Moves a block that has no tag to one with room for a wide tag, where it needs that. Returns where the block is now, and its size. Where
/// there is no memory, it stays.
pub fn with_room(block: *mut u8, size: BlockSize) -> (*mut u8, BlockSize) {
    let stays = (block, size);
    if can_follow(size) || !backend::has_classes() {
        return stays;
    }
    // Zeroed, as the block may have come from calloc. jemalloc aligns blocks of this size to it, so that no alignment is lost.
    let larger = backend::calloc(1, FOLLOWED_MIN as usize);
    if larger.is_null() {
        return stays;
    }
    // SAFETY: both blocks are live, and the larger one has more bytes. The caller has the smaller one to itself.
    unsafe {
        ptr::copy_nonoverlapping(block, larger, size.usable as usize);
        backend::free(block, None);
    }
    (larger, BlockSize { usable: FOLLOWED_MIN, ..size })
}
