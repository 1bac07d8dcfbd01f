//! Reads: when the followed blocks were last read, and what of the session's peak nobody read again.
//!
//! A block that was live at the peak and is freed is in one of three sums: it was read after the peak, or it was not, or it
//! was the workspace of an operator. The sums are those of one peak. The next peak begins new ones, since what was freed
//! before it was not live at it.
use alloc_timeline::Category;
use rustc_hash::FxHashMap;

use crate::amount::Amount;
use crate::high_water::{HighWaterMark, Moment};
use crate::prompt::PromptPeak;
use crate::scope::ScopeId;

/// Histories that are kept apart; blocks with further ones are one rest for each category.
const MOST_HISTORIES: usize = 4096;

/// What is known of the reads of one block.
#[derive(Clone, Copy, Debug)]
pub struct LastRead {
    /// Number of the event.
    pub event: u64,
    pub time_ns: u64,
    /// The scope that read it.
    pub scope: ScopeId,
    /// How many reads there were.
    pub reads: u64,
}

/// What the blocks of one row have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct History {
    /// The scope that allocated them; `None`: those that found no room.
    pub made_in: Option<ScopeId>,
    pub category: Category,
    /// The scope that read them last; `None`: nobody did.
    pub read_in: Option<ScopeId>,
    /// Whether they were freed.
    pub is_freed: bool,
    /// The scope that was active when they were freed, where that is known.
    pub freed_in: Option<ScopeId>,
}

/// Blocks with one history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unread {
    pub amount: Amount,
    pub reads: u64,
    /// When the last of them was read last.
    pub read_ns: Option<u64>,
    /// When the first of them was freed.
    pub freed_ns: Option<u64>,
}

/// A block of the peak, as it is summed up.
#[derive(Clone, Copy, Debug)]
pub struct PeakBlock {
    pub made_in: ScopeId,
    pub category: Category,
    pub amount: Amount,
    /// Number of the event that made it or last changed its size.
    pub event: u64,
    pub last_read: Option<LastRead>,
    pub is_workspace: bool,
}

/// What became of the blocks of one peak.
#[derive(Clone, Debug, Default)]
pub struct PeakReads {
    /// The epoch of that peak.
    epoch: u64,
    pub read_later: Amount,
    pub workspace: Amount,
    pub unread: FxHashMap<History, Unread>,
}

impl PeakReads {
    /// Adds a block that was live at the peak, if it was. `freed`: when and in which scope it was freed; `None`: it lives.
    pub fn add(&mut self, block: PeakBlock, freed: Option<(Moment, Option<ScopeId>)>, peak: &HighWaterMark) {
        if block.event > peak.event {
            return;
        }
        if self.epoch != peak.epoch {
            *self = PeakReads { epoch: peak.epoch, ..PeakReads::default() };
        }
        if block.is_workspace {
            self.workspace += block.amount;
        } else if block.last_read.is_some_and(|read| read.event >= peak.event) {
            self.read_later += block.amount;
        } else {
            self.add_unread(block, freed);
        }
    }

    fn add_unread(&mut self, block: PeakBlock, freed: Option<(Moment, Option<ScopeId>)>) {
        let PeakBlock { made_in, category, last_read, .. } = block;
        let (is_freed, freed_in) = (freed.is_some(), freed.and_then(|(_, scope)| scope));
        let read_in = last_read.map(|read| read.scope);
        let mut history = History { made_in: Some(made_in), category, read_in, is_freed, freed_in };
        if self.unread.len() >= MOST_HISTORIES && !self.unread.contains_key(&history) {
            history = History { made_in: None, category, read_in: None, is_freed, freed_in: None };
        }
        let unread = self.unread.entry(history).or_default();
        unread.amount += block.amount;
        unread.reads += last_read.map_or(0, |read| read.reads);
        unread.read_ns = unread.read_ns.max(last_read.map(|read| read.time_ns));
        let freed_ns = freed.map(|(at, _)| at.time_ns);
        unread.freed_ns = unread.freed_ns.into_iter().chain(freed_ns).min();
    }

    /// The sums of `peak`; empty when they are those of another.
    pub fn of(&self, peak: &HighWaterMark) -> PeakReads {
        let fresh = || PeakReads { epoch: peak.epoch, ..PeakReads::default() };
        if self.epoch == peak.epoch { self.clone() } else { fresh() }
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Reads {
    /// Number of the event that told the first read.
    pub first: Option<u64>,
    pub at_peak: PeakReads,
    pub prompt: PromptPeak,
}

impl Reads {
    /// A read is told, of whatever block.
    pub fn told(&mut self, at: Moment) {
        self.first.get_or_insert(at.event);
        self.prompt.read(at.event);
    }

    /// A block is freed.
    pub fn freed(&mut self, block: PeakBlock, freed_in: Option<ScopeId>, at: Moment, peak: &HighWaterMark) {
        self.at_peak.add(block, Some((at, freed_in)), peak);
        // One that changed its size after its last read is left as it was.
        if let Some(read) = block.last_read.filter(|read| read.event > block.event && !block.is_workspace) {
            self.prompt.freed(block.amount.usable, read.event);
        }
    }
}
