//! Who says where steps begin and end: the program, or, while it does not, operators.
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use alloc_replay::Event;

use crate::ledger::{self, publish};

/// No step was derived yet.
const NONE: u8 = 0;
/// In a derived step, of which no optimizer's operator has run.
const OPEN: u8 = 1;
/// In a derived step whose optimizer runs or has run.
const UPDATED: u8 = 2;
/// The program says where its steps begin: none is derived.
const PROGRAM: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(NONE);
/// How many steps the program has begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// A session starts.
pub fn session_starts() {
    STATE.store(NONE, Ordering::Relaxed);
    // No guard of a session before is the latest.
    BEGUN.fetch_add(1, Ordering::Relaxed);
}

/// The program begins a step of its own. Returns its number.
pub fn program_begins() -> u64 {
    STATE.store(PROGRAM, Ordering::Relaxed);
    BEGUN.fetch_add(1, Ordering::Relaxed) + 1
}

/// Whether the program has begun no other step since that one.
pub fn is_latest(step: u64) -> bool {
    BEGUN.load(Ordering::Relaxed) == step
}

/// An operator with a gradient to come runs. Returns whether a step begins with it.
pub fn forward_runs() -> bool {
    let from = STATE.load(Ordering::Relaxed);
    matches!(from, NONE | UPDATED)
        && publish::recording()
        && STATE.compare_exchange(from, OPEN, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// An operator of an optimizer runs.
pub fn optimizer_runs() {
    if STATE.load(Ordering::Relaxed) == OPEN {
        // When this fails, another thread has found out the same or begun a step.
        let _ = STATE.compare_exchange(OPEN, UPDATED, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The session ends. Returns whether a derived step ends with it: one whose optimizer has run.
pub fn session_ends() -> bool {
    STATE.swap(NONE, Ordering::Relaxed) == UPDATED
}

/// Tells the recorder of an event, after everything that this thread has counted so far.
pub fn tell(event: &Event) {
    let slot = ledger::acquire();
    if let Some(slot) = slot {
        slot.publish();
    }
    let _ = ledger::emit(slot, event);
}
