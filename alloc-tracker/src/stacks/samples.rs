//! Takes samples, and follows the sampled blocks until they are freed.
use std::sync::atomic::{AtomicU64, Ordering};

use alloc_replay::{Event, ScopeId, TRACKER};

use super::modules::Modules;
use super::{addresses, code_map, functions, table, unwind};
use crate::ledger::{self, Slot, emit, publish};
use crate::sampler;
use crate::settings::sampling;

/// The bytes that lost samples stood for: samples whose event could not be written.
static LOST_BYTES: AtomicU64 = AtomicU64::new(0);
/// How many samples were lost.
static LOST_SAMPLES: AtomicU64 = AtomicU64::new(0);

/// How many samples were lost since the session began, and for how many bytes they stood.
pub fn lost() -> (u64, u64) {
    (LOST_SAMPLES.load(Ordering::Relaxed), LOST_BYTES.load(Ordering::Relaxed))
}

/// Prepares what samples need, before a session's first event. Blocks that an earlier session sampled are no longer
/// followed.
pub fn begin() -> Modules {
    addresses::clear();
    LOST_BYTES.store(0, Ordering::Relaxed);
    LOST_SAMPLES.store(0, Ordering::Relaxed);
    unwind::prepare();
    Modules::new()
}

/// The addresses that the tables of stacks, of interpreted functions and of sampled blocks occupy.
pub fn ranges() -> Vec<(usize, usize)> {
    [table::range(), addresses::range(), functions::range()].into_iter().flatten().collect()
}

/// Whether only blocks with a wide tag can be followed: frees of others take the hot path, which does not look whether they were
/// sampled.
#[inline]
pub fn needs_wide_tags() -> bool {
    sampling::is_rare() && ledger::opens_lanes()
}

/// Whether a sample point falls into `bytes` more bytes that are allocated in `scope`, or into those that the lane has counted
/// last. Then [`sample`] is to be called.
#[inline]
pub fn is_due(slot: Option<&Slot>, bytes: u64, scope: ScopeId) -> bool {
    let falls = || slot.map_or_else(|| sampler::is_due_alone(bytes), |slot| slot.is_sample_due(bytes));
    sampling::is_on() && scope != TRACKER && publish::recording() && falls()
}

/// Counts `bytes` by which a block grows that has no wide tag, if no sample point falls into them. `false`, and nothing is counted, where
/// one may: [`is_due`] then says whether it does. To be called where lanes are open.
#[inline]
pub fn grows_without_sample(slot: &Slot, bytes: u64, scope: ScopeId) -> bool {
    let needs_none = bytes == 0 || scope == TRACKER || !publish::recording();
    !sampling::is_on() || sampling::is_rare() && (needs_none || slot.counts_without_sample(bytes))
}

/// Notes that a library was unloaded: what is known of its code is not true any more.
pub fn code_was_unloaded() {
    if sampling::is_on() {
        code_map::doubt();
    }
}

/// Bytes of a block that are sampled.
#[derive(Debug)]
pub struct Sample {
    /// Where the block is.
    pub block: *const u8,
    /// How many of its bytes.
    pub bytes: u64,
    /// Who owns it.
    pub scope: ScopeId,
    /// Whether the block is new, and not one that has grown.
    pub fresh: bool,
    /// Whether its free will be told to [`freed`].
    pub can_follow: bool,
}

/// Takes a sample, and starts to follow the block. To be called before the bytes are published, so that no peak includes them without
/// their sample.
#[cold]
#[inline(never)]
pub fn sample(slot: Option<&Slot>, sample: &Sample) {
    let &Sample { block, bytes, scope, fresh, can_follow } = sample;
    let weight = sampler::weight(bytes);
    let stack = unwind::stack(slot.map(|slot| &slot.own_stack));
    let followed = can_follow && addresses::add(block.addr());
    let (address, cut) = (block.addr() as u64, table::is_cut(stack));
    let thread = slot.map_or(0, |slot| slot.number.get());
    if !emit(slot, &Event::Sampled { scope, address, bytes, weight, stack, cut, fresh, followed, thread }) {
        LOST_BYTES.fetch_add(weight, Ordering::Relaxed);
        LOST_SAMPLES.fetch_add(1, Ordering::Relaxed);
    }
}

/// Notes that `block` is about to be freed.
#[inline]
pub fn freed(slot: Option<&Slot>, block: *const u8) {
    if sampling::is_on() && addresses::remove(block.addr()) {
        // When no session records, the event is not needed.
        let _ = emit(slot, &Event::SampleFreed { address: block.addr() as u64 });
    }
}

/// Notes that `block` is about to be resized. A sampled block has no address until [`resize_ended`]; the token that is
/// returned stands for it. 0 for a block that was not sampled.
pub fn resize_begins(slot: Option<&Slot>, block: *const u8) -> u64 {
    if !sampling::is_on() || !addresses::remove(block.addr()) {
        return 0;
    }
    let token = publish::token();
    if emit(slot, &Event::SampleResizeBegan { address: block.addr() as u64, token }) { token } else { 0 }
}

/// Notes that a block with a token has been resized, from `before` to `after` usable bytes. `can_follow`: see [`Sample`].
pub fn resize_ended(slot: Option<&Slot>, token: u64, block: *const u8, [before, after]: [u64; 2], can_follow: bool) {
    if token != 0 {
        let address = (can_follow && addresses::add(block.addr())).then_some(block.addr() as u64);
        let _ = emit(slot, &Event::SampleResizeEnded { address, before, after, token });
    }
}
