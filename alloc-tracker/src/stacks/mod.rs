//! Samples of who allocates: one block now and then, with the calls that led to it.
//!
//! ```text
//! cold door -> gap.rs (which block, and for how many bytes it stands) -> unwind.rs (its calls) -> table.rs (numbered)
//!                 |                                                        ^ modules.rs (renewed by the recorder)
//!                 \-> addresses.rs (sampled blocks that live) -> event ring -> recorder/sites.rs -> recorder/symbols.rs
//! ```
//!
//! `ALLOC_TRACKER_STACKS=512KiB` (or `512KiB,7`: with a seed) in the environment switches this on for the process's whole
//! life, at its first allocation: then no lane is ever opened, every block goes the cold way, and the hot way costs what it
//! costs without this module. Samples are taken while a session records.
//!
//! On the way of an allocation nothing here allocates, waits, or asks the loader: a sample whose calls cannot be found
//! stands for as many bytes as any other, without a stack.
mod addresses;
mod aside;
mod gap;
pub(crate) mod modules;
mod table;
mod unwind;

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

pub use gap::Sampler;
pub use modules::Modules;
pub use table::{frames, is_cut};

use crate::event::{Event, Kind};
use crate::ledger::publish;
use crate::ledger::slot::Slot;
use crate::mode::environment;
use crate::session::size;
use crate::tag::scope::{ScopeId, TRACKER};

/// The environment variable that switches stacks on.
pub const VARIABLE: &str = "ALLOC_TRACKER_STACKS";
/// The number of the stack of samples whose calls could not be found.
pub const NO_STACK: u32 = 0;
/// The largest mean that makes sense; keeps sums of gaps far from overflowing.
const MAX_MEAN: u64 = 1 << 40;

const UNDECIDED: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNDECIDED);
static MEAN: AtomicU64 = AtomicU64::new(1);
static SEED: AtomicU64 = AtomicU64::new(0);
/// Bytes that samples stand for of which the recorder could not be told, and how many those samples were.
static LOST_BYTES: AtomicU64 = AtomicU64::new(0);
static LOST_SAMPLES: AtomicU64 = AtomicU64::new(0);

/// Whether blocks are sampled in this process.
#[inline(always)]
pub fn on() -> bool {
    match STATE.load(Ordering::Relaxed) {
        UNDECIDED => decide(),
        state => state == ON,
    }
}

#[cold]
fn decide() -> bool {
    let asked = environment(c"ALLOC_TRACKER_STACKS").and_then(|text| text.to_str().ok()).map(parse);
    if let Some(Some((mean, seed))) = asked {
        MEAN.store(mean, Ordering::Relaxed);
        SEED.store(seed, Ordering::Relaxed);
        STATE.store(ON, Ordering::Release);
        return true;
    }
    STATE.store(OFF, Ordering::Release);
    false
}

/// Mean and seed of `512KiB,7`; without a seed it is 0. `None` when that is not what `text` says. Allocates nothing.
fn parse(text: &str) -> Option<(u64, u64)> {
    let (mean, seed) = text.split_once(',').unwrap_or((text, "0"));
    let mean = size::parse(mean).filter(|mean| (1..=MAX_MEAN).contains(mean))?;
    Some((mean, seed.trim().parse().ok()?))
}

/// What is wrong with the environment variable, in words.
pub fn complaint() -> Option<String> {
    let text = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty())?;
    parse(&text)
        .is_none()
        .then(|| format!("{VARIABLE}: '{text}' is no mean distance: write 512KiB, or 512KiB,7 with a seed"))
}

/// The mean distance of two samples in bytes, and the seed.
pub fn settings() -> (u64, u64) {
    (MEAN.load(Ordering::Relaxed), SEED.load(Ordering::Relaxed))
}

/// Samples lost and the bytes that they stood for, since the session began.
pub fn lost() -> (u64, u64) {
    (LOST_SAMPLES.load(Ordering::Relaxed), LOST_BYTES.load(Ordering::Relaxed))
}

/// Before a session's first event: makes what samples need. Blocks that an earlier session sampled are no longer followed.
pub fn begin() -> Modules {
    addresses::clear();
    LOST_BYTES.store(0, Ordering::Relaxed);
    LOST_SAMPLES.store(0, Ordering::Relaxed);
    unwind::prepare();
    Modules::new()
}

/// The addresses that the tables of stacks and of blocks occupy.
pub fn ranges() -> Vec<(usize, usize)> {
    [table::range(), addresses::range()].into_iter().flatten().collect()
}

/// A block of `usable` bytes was allocated in `scope`. To be called before the block is counted, so that no peak has the
/// block without its sample.
#[inline]
pub fn allocated(slot: Option<&Slot>, block: *const u8, usable: usize, scope: ScopeId) {
    if on() && scope != TRACKER && publish::recording() && gap::is_due(slot, usable as u64) {
        sample(slot, block, usable as u64, scope, true);
    }
}

#[cold]
#[inline(never)]
fn sample(slot: Option<&Slot>, block: *const u8, bytes: u64, scope: ScopeId, fresh: bool) {
    let weight = gap::weight(bytes, MEAN.load(Ordering::Relaxed));
    let stack = unwind::stack();
    let known = addresses::add(block.addr());
    let (a, d) = (block.addr() as u64, u64::from(known) | u64::from(!fresh) << 1);
    let event = Event { kind: Kind::Sampled, scope, a, b: weight, c: stack.into(), d, e: bytes, ..Event::default() };
    if !publish::emit(slot, event) {
        LOST_BYTES.fetch_add(weight, Ordering::Relaxed);
        LOST_SAMPLES.fetch_add(1, Ordering::Relaxed);
    }
}

/// `block` is about to be freed.
#[inline]
pub fn freed(slot: Option<&Slot>, block: *const u8) {
    if on() && addresses::remove(block.addr()) {
        // Without a recorder nobody needs to know.
        let _ = publish::emit(slot, Event { kind: Kind::SampleFreed, a: block.addr() as u64, ..Event::default() });
    }
}

/// `block` is about to be resized: if it was sampled, its address is nobody's until [`put`]. Gives the token for that; 0
/// for a block that was not sampled.
pub fn take(slot: Option<&Slot>, block: *const u8) -> u64 {
    if !on() || !addresses::remove(block.addr()) {
        return 0;
    }
    let e = publish::token();
    let event = Event { kind: Kind::SampleTaken, a: block.addr() as u64, e, ..Event::default() };
    if publish::emit(slot, event) { e } else { 0 }
}

/// It has been resized, from and to so many usable bytes, and is `scope`'s as before: what it grew by may be sampled like a
/// block of that size.
pub fn put(slot: Option<&Slot>, token: u64, block: *const u8, [before, after]: [usize; 2], scope: ScopeId) {
    if !on() {
        return;
    }
    if token != 0 {
        let a = if addresses::add(block.addr()) { block.addr() as u64 } else { 0 };
        let (b, c) = (after as u64, before as u64);
        let _ = publish::emit(slot, Event { kind: Kind::SamplePut, a, b, c, e: token, ..Event::default() });
    }
    let grown = after.saturating_sub(before) as u64;
    if grown > 0 && scope != TRACKER && publish::recording() && gap::is_due(slot, grown) {
        sample(slot, block, grown, scope, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_gives_a_mean_and_perhaps_a_seed() {
        for (text, settings) in [("512KiB", (512 << 10, 0)), ("1MiB,7", (1 << 20, 7)), ("1, 18", (1, 18))] {
            assert_eq!(parse(text), Some(settings), "{text}");
        }
        for text in ["", "0", "x", "512KiB,", "512KiB,x", "2048GiB", "1,2,3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
