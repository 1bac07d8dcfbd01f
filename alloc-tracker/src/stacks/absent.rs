//! The functions of `samples.rs` without an effect, for programs that are built without the feature `stacks`.
use alloc_replay::ScopeId;

use crate::ledger::Slot;

/// The addresses that the tables occupy: none.
pub fn ranges() -> Vec<(usize, usize)> {
    Vec::new()
}

/// A block was allocated.
#[inline(always)]
pub fn allocated(_: Option<&Slot>, _: *const u8, _: u64, _: ScopeId) {}

/// A block is about to be freed.
#[inline(always)]
pub fn freed(_: Option<&Slot>, _: *const u8) {}

/// A block is about to be resized.
#[inline(always)]
pub fn resize_begins(_: Option<&Slot>, _: *const u8) -> u64 {
    0
}

/// A block has been resized.
#[inline(always)]
pub fn resize_ended(_: Option<&Slot>, _: u64, _: *const u8, _: [u64; 2], _: ScopeId) {}
