//! What became of the followed blocks: how many there were, where they went, how large they were, how long they lived.
//!
//! Between events, what the accounts hold in followed blocks is what the histograms hold. The bytes that were ever
//! allocated for followed blocks are those held, those freed, and those that a realloc gave back.
use crate::accounts::{Account, AccountId, Accounts};
use crate::amount::Amount;
use crate::counts::Counts;
use crate::flows::{Flows, Route};
use crate::histograms::Histograms;

/// See the module's description.
#[derive(Debug, Default)]
pub struct FollowedSums {
    /// All blocks that were ever followed, with the bytes ever allocated for them.
    pub all: Amount,
    /// Bytes that a realloc gave back.
    pub shrunk: i64,
    /// What all scopes had done when the recording began.
    pub before: Counts,
    pub flows: Flows,
    pub histograms: Histograms,
}

impl FollowedSums {
    /// A block is followed from now on.
    pub fn began(&mut self, account: &mut Account, block: Amount) {
        self.all += block;
        self.hold(account, block);
    }

    /// It was freed.
    pub fn freed(&mut self, account: &mut Account, block: Amount, route: Route, lifetime_ns: u64) {
        self.release(account, block);
        self.histograms.add_freed(route.category, block, lifetime_ns);
        self.flows.add(route, block);
    }

    /// It lives on without being followed.
    pub fn ended(&mut self, account: &mut Account, block: Amount) {
        self.all += -block;
        self.release(account, block);
    }

    /// A block that was `block` changed its size.
    pub fn resized(&mut self, account: &mut Account, block: Amount, change: Amount) {
        self.all += Amount { usable: change.usable.max(0), requested: change.requested.max(0), blocks: 0 };
        self.shrunk -= change.usable.min(0);
        self.release(account, block);
        let mut resized = block;
        resized += change;
        self.hold(account, resized);
    }

    /// A block belongs to another account.
    pub fn moved(&mut self, accounts: &mut Accounts, [from, to]: [AccountId; 2], block: Amount) {
        self.release(accounts.get_mut(from), block);
        self.hold(accounts.get_mut(to), block);
    }

    fn hold(&mut self, account: &mut Account, block: Amount) {
        account.followed += block;
        self.histograms.add_held(account.category, block);
    }

    fn release(&mut self, account: &mut Account, block: Amount) {
        account.followed += -block;
        self.histograms.remove_held(account.category, block);
    }
}
