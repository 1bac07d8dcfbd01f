//! The layer of a forward operator, by its sequence number: remembered in the forward pass, looked up by the autograd node
//! of the same number in the backward pass, on whatever thread that runs.
//!
//! Sequence numbers count up within a thread, so a table of the last [`REMEMBERED`] of them, addressed by the number
//! itself, needs no lock and never grows. A graph of more operators than that loses the layers of its first ones: their
//! backward bytes then have no layer, which `unattributed_bytes` shows.
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use alloc_tracker::hooks::Name;

/// How many of the latest operators are remembered.
const REMEMBERED: usize = 1 << 17;

/// The layers of the last 131,072 operators that have sequence numbers, 1.5 MiB. All zeros at first: in a `static` of its
/// own it costs no page of memory before it is written to.
pub struct SequenceTable {
    keys: [AtomicU64; REMEMBERED],
    layers: [AtomicU32; REMEMBERED],
}

impl SequenceTable {
    /// A table that remembers nothing.
    pub const fn new() -> SequenceTable {
        SequenceTable {
            keys: [const { AtomicU64::new(0) }; REMEMBERED],
            layers: [const { AtomicU32::new(0) }; REMEMBERED],
        }
    }

    /// The operator of this number runs in `layer`. Nested operators share a number: the last to start made the node.
    pub(crate) fn remember(&self, thread: u64, sequence: i64, layer: Name) {
        let index = index(thread, sequence);
        self.layers[index].store(layer.0, Ordering::Relaxed);
        self.keys[index].store(key(thread, sequence), Ordering::Release);
    }

    /// The layer of the operator of this number, if it is remembered.
    pub(crate) fn recall(&self, thread: u64, sequence: i64) -> Option<Name> {
        let index = index(thread, sequence);
        let is_known = self.keys[index].load(Ordering::Acquire) == key(thread, sequence);
        is_known.then(|| Name(self.layers[index].load(Ordering::Relaxed)))
    }
}

impl Default for SequenceTable {
    fn default() -> SequenceTable {
        SequenceTable::new()
    }
}

impl fmt::Debug for SequenceTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequenceTable").finish_non_exhaustive()
    }
}

/// Never 0 for a real operator: libtorch counts its threads from 1.
fn key(thread: u64, sequence: i64) -> u64 {
    thread << 48 | sequence as u64 & ((1 << 48) - 1)
}

fn index(thread: u64, sequence: i64) -> usize {
    // Threads start their numbers at the same value: spread them.
    (sequence as u64).wrapping_add(thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % REMEMBERED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_start_counts_and_threads_do_not_mix() {
        static TABLE: SequenceTable = SequenceTable::new();
        TABLE.remember(1, 40, Name(7));
        TABLE.remember(1, 40, Name(8));
        TABLE.remember(2, 40, Name(9));
        assert_eq!(TABLE.recall(1, 40), Some(Name(8)));
        assert_eq!(TABLE.recall(2, 40), Some(Name(9)));
        assert_eq!(TABLE.recall(1, 41), None);
    }

    #[test]
    fn what_was_pushed_out_is_not_mistaken() {
        static TABLE: SequenceTable = SequenceTable::new();
        TABLE.remember(3, 5, Name(1));
        TABLE.remember(3, 5 + REMEMBERED as i64, Name(2));
        assert_eq!(TABLE.recall(3, 5), None);
    }

    /// The same number of another thread, at the same place of the table.
    #[test]
    fn the_thread_is_part_of_the_key() {
        static TABLE: SequenceTable = SequenceTable::new();
        let other = (2..1 << 32).find(|&thread| index(thread, 5) == index(1, 5)).expect("as many threads as that");
        TABLE.remember(1, 5, Name(1));
        assert_eq!(TABLE.recall(other, 5), None, "thread {other}");
    }
}
