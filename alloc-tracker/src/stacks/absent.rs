//! The functions of `samples.rs` without an effect, for programs that are built without the feature `stacks`.
use alloc_replay::ScopeId;

use crate::ledger::Slot;

/// The addresses that the tables occupy: none.
pub fn ranges() -> Vec<(usize, usize)> {
    Vec::new()
}

/// Whether only blocks with a wide tag can be followed.
#[inline(always)]
pub fn needs_wide_tags() -> bool {
    false
}

/// Whether the next block is to be sampled: no.
#[inline(always)]
pub fn is_due(_: Option<&Slot>, _: u64, _: ScopeId) -> bool {
    false
}

/// A block grows without a sample.
#[inline(always)]
pub fn grows_without_sample(_: &Slot, _: u64, _: ScopeId) -> bool {
    true
}

/// A library was unloaded.
pub fn code_was_unloaded() {}

/// A block is sampled.
#[inline(always)]
pub fn sample(_: Option<&Slot>, _: &Sample) {}

/// Bytes of a block that are sampled.
#[derive(Debug)]
#[expect(dead_code, reason = "made by who could sample")]
pub struct Sample {
    pub block: *const u8,
    pub bytes: u64,
    pub scope: ScopeId,
    pub fresh: bool,
    pub can_follow: bool,
}

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
pub fn resize_ended(_: Option<&Slot>, _: u64, _: *const u8, _: [u64; 2], _: bool) {}
