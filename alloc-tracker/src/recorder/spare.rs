//! Memory for the recorder when the program has taken all that there is.
#[cfg(feature = "stacks")]
use std::path::Path;

use alloc_replay::TRACKER;

use crate::backend;
use crate::ledger::totals;

/// How much more than twice what the recorder has is kept for it, in bytes. (A table that grows is for a while there twice, once with its old
/// size and once with the double of it.)
const LEAST: u64 = 4 << 20;
/// The most that is kept for a file of debug information, in bytes: large ones are not compressed, or have symbols alone.
#[cfg(feature = "stacks")]
const MOST_FOR_A_FILE: u64 = 64 << 20;

/// Keeps addresses for the recorder, which no block of the program's can take.
#[derive(Debug, Default)]
pub struct Spare {
    /// The tracker's live bytes when it was last seen to, if it was.
    seen_to: Option<u64>,
}

impl Spare {
    /// On each tick: keeps more when the recorder has grown.
    pub fn look(&mut self) {
        let live = totals::of(TRACKER).read().live().max(0) as u64;
        if self.seen_to.is_none_or(|before| live > before + LEAST / 2) {
            // Without so much now, the recorder goes on with what it has.
            let _ = backend::keep_spare((2 * live + LEAST) as usize);
            self.seen_to = Some(live);
        }
    }
}

/// Whether there is memory to read a file of debug information; as much is then kept. It is a rule of thumb: that of glibc, which is
/// compressed, takes ten times the bytes of its file.
#[cfg(feature = "stacks")]
pub fn is_enough_for(file: &Path) -> bool {
    let bytes = file.metadata().map_or(0, |file| file.len());
    backend::keep_spare((bytes.saturating_mul(12).min(MOST_FOR_A_FILE) + LEAST) as usize)
}
