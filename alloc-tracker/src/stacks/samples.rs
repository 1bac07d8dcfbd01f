//! Takes samples, and follows the sampled blocks until they are freed.
use std::sync::atomic::{AtomicU64, Ordering};

use alloc_replay::{Event, ScopeId, TRACKER};

use super::modules::Modules;
use super::{addresses, table, unwind};
use crate::ledger::{Slot, emit, publish};
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

/// The addresses that the tables of stacks and of sampled blocks occupy.
pub fn ranges() -> Vec<(usize, usize)> {
    [table::range(), addresses::range()].into_iter().flatten().collect()
}

/// Whether a sample point falls into `bytes` more bytes that are allocated in `scope`.
fn is_due(slot: Option<&Slot>, bytes: u64, scope: ScopeId) -> bool {
    let sampler = || slot.map(|slot| (&slot.sampler, slot.index.load(Ordering::Relaxed)));
    scope != TRACKER && publish::recording() && sampler::is_due(sampler(), bytes)
}

/// Samples a new block of `usable` bytes in `scope`, if it is due. To be called before the block is counted, so that no
/// peak includes the block without its sample.
#[inline]
pub fn allocated(slot: Option<&Slot>, block: *const u8, usable: u64, scope: ScopeId) {
    if sampling::is_on() && is_due(slot, usable, scope) {
        sample(slot, block, usable, scope, true);
    }
}

/// Takes a sample of `bytes` bytes, and starts to follow the block. `fresh`: the block is new, and not one that has
/// grown.
#[cold]
#[inline(never)]
fn sample(slot: Option<&Slot>, block: *const u8, bytes: u64, scope: ScopeId, fresh: bool) {
    let weight = sampler::weight(bytes);
    let stack = unwind::stack();
    let followed = addresses::add(block.addr());
    let (address, cut) = (block.addr() as u64, table::is_cut(stack));
    if !emit(slot, &Event::Sampled { scope, address, bytes, weight, stack, cut, fresh, followed }) {
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

/// Notes that `block` has been resized, from `before` to `after` usable bytes; `scope` owns it, as before. The bytes by
/// which it has grown may be sampled like a new block of that size.
pub fn resize_ended(slot: Option<&Slot>, token: u64, block: *const u8, [before, after]: [u64; 2], scope: ScopeId) {
    if !sampling::is_on() {
        return;
    }
    if token != 0 {
        let address = addresses::add(block.addr()).then_some(block.addr() as u64);
        let _ = emit(slot, &Event::SampleResizeEnded { address, before, after, token });
    }
    let grown = after.saturating_sub(before);
    if grown > 0 && is_due(slot, grown, scope) {
        sample(slot, block, grown, scope, false);
    }
}
