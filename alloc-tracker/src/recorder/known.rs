//! The blocks that are known by address: how many, what became of them, how large they were and how long they lived.
//!
//! Between events: what the accounts know is what the histograms hold, and the bytes that were ever allocated for known
//! blocks are those held, those freed, and those that a realloc gave back.
use super::account::{Account, Amount};
use super::lifetime::Histograms;
use super::ownership::{Flows, Way};
use crate::ledger::totals::Counts;

/// See the module's description.
#[derive(Debug, Default)]
pub struct Known {
    /// Blocks that became known, with the bytes ever allocated for them.
    pub all: Amount,
    /// Bytes that a realloc gave back.
    pub shrunk: i64,
    /// Blocks and usable bytes that were freed before this recording.
    pub before: Counts,
    pub flows: Flows,
    pub histograms: Histograms,
}

impl Known {
    /// Before the recording began a scope had counted this.
    pub fn gone_before(&mut self, counts: &Counts) {
        self.before.add(counts);
    }

    /// A block became known.
    pub fn made(&mut self, account: &mut Account, block: Amount) {
        self.all.add(block);
        account.known.add(block);
        self.histograms.holds(account.category, block);
    }

    /// It was freed.
    pub fn died(&mut self, account: &mut Account, block: Amount, way: Way, lifetime_ns: u64) {
        account.known.add(block.negated());
        self.histograms.holds_no_more(account.category, block);
        self.histograms.freed(way.category, block, lifetime_ns);
        self.flows.add(way, block);
    }

    /// It goes on without being known.
    pub fn lost(&mut self, account: &mut Account, block: Amount) {
        self.all.add(block.negated());
        account.known.add(block.negated());
        self.histograms.holds_no_more(account.category, block);
    }

    /// A block that was `block` changed its size.
    pub fn resized(&mut self, account: &mut Account, block: Amount, change: Amount) {
        self.all.add(Amount { usable: change.usable.max(0), requested: change.requested.max(0), blocks: 0 });
        self.shrunk -= change.usable.min(0);
        account.known.add(change);
        let mut resized = block;
        resized.add(change);
        self.histograms.holds_no_more(account.category, block);
        self.histograms.holds(account.category, resized);
    }

    /// A block belongs to another account.
    pub fn moved(&mut self, accounts: &mut [Account], from: usize, to: usize, block: Amount) {
        for (account, block, gone) in [(from, block.negated(), true), (to, block, false)] {
            let account = &mut accounts[account];
            account.known.add(block);
            if gone {
                self.histograms.holds_no_more(account.category, block.negated());
            } else {
                self.histograms.holds(account.category, block);
            }
        }
    }
}
