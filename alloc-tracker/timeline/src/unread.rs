//! Who still reads what was live at the peak: tensor storages that are read later, and those that nobody reads again.
//!
//! A storage is known to be read when an operator takes it as an input. That is told by the recorder of a framework's
//! operators; of blocks that are no storages nothing is known.
use serde::{Deserialize, Serialize};

use crate::analysis::Sums;
use crate::scope::Category;

/// What was live at the peak, by whether an operator reads it later.
///
/// `live_bytes` is the sum of `read_later`, `workspace`, `unread` and `unknown_bytes`, and the rows sum to `unread`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The instant: that of [`Timeline::peak`](crate::Timeline::peak).
    pub time_ns: u64,
    /// Live bytes at that instant, as the peak has them.
    pub live_bytes: u64,
    /// Storages that an operator reads at or after that instant.
    pub read_later: Sums,
    /// Storages that the operator that allocated them freed itself. How long it used them is not told.
    pub workspace: Sums,
    /// Storages that no operator reads any more.
    pub unread: Sums,
    /// What else was live: blocks of which nobody says when they are read.
    pub unknown_bytes: u64,
    /// The highest point of the live bytes, had each storage that was read and then freed been freed at its last read. All
    /// else stays as it was.
    pub prompt_peak_bytes: u64,
    /// The instant of `prompt_peak_bytes`.
    pub prompt_peak_ns: u64,
    /// The storages of `unread`, the largest rows first.
    pub rows: Vec<UnreadRow>,
}

/// Storages that no operator reads after the peak, and that have the same history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadRow {
    /// The scope that allocated them, as index into [`Timeline::scopes`](crate::Timeline::scopes). Absent: the rows for
    /// which the recorder's table had no room.
    pub made_in: Option<u32>,
    /// What they are for.
    pub category: Category,
    /// The scope that read them last. Absent: no operator ever read them.
    pub read_in: Option<u32>,
    /// When the last of them was read last.
    pub read_ns: Option<u64>,
    /// How often all of them were read.
    pub reads: u64,
    /// Whether they were freed. If not, they were live to the end of the recording.
    pub freed: bool,
    /// The scope that was active on the thread that freed them. Absent when that is not known, or they were not freed.
    pub freed_in: Option<u32>,
    /// When the first of them was freed.
    pub freed_ns: Option<u64>,
    /// Their bytes and their number.
    #[serde(flatten)]
    pub sums: Sums,
}

impl Unread {
    /// Whether it describes this peak: a recorder that was killed may have written a later peak than this.
    pub(crate) fn is_of(&self, time_ns: u64, live_bytes: u64) -> bool {
        (self.time_ns, self.live_bytes) == (time_ns, live_bytes)
    }

    /// The scopes that the rows name.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = u32> {
        self.rows.iter().flat_map(|row| [row.made_in, row.read_in, row.freed_in]).flatten()
    }
}
