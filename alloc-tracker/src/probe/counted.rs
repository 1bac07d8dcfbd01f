//! The ledger's sums over all scopes, with what threads have not published yet.
use alloc_replay::{Counts, ScopeId, TRACKER};

use crate::ledger::{self, Slot, totals};
use crate::scope;

/// Live bytes and blocks now. Events that are still in the ring are missing: the recorder reads them before it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The program's live bytes (usable bytes).
    pub live: u64,
    /// The same in requested bytes.
    pub requested: u64,
    /// Live bytes of the tracker itself: names, the replay, the timeline as far as it is recorded.
    pub tracker: u64,
    /// Live blocks, the tracker's among them.
    pub blocks: u64,
}

impl Counted {
    /// Reads all counts.
    pub fn now() -> Self {
        let published = (0..scope::count() as ScopeId).map(|scope| (scope, totals::of(scope).read()));
        let (mut program, mut tracker) = (Counts::default(), Counts::default());
        for (scope, counts) in published.chain(ledger::live_slots().flat_map(Slot::unpublished)) {
            *(if scope == TRACKER { &mut tracker } else { &mut program }) += counts;
        }
        // Counts that are read while threads change them can be negative by a little.
        let positive = |count: i64| count.max(0) as u64;
        Counted {
            live: positive(program.live()),
            requested: positive(program.live_requested()),
            tracker: positive(tracker.live()),
            blocks: positive(program.live_blocks() + tracker.live_blocks()),
        }
    }
}
