//! Accounts: what one scope holds in one category, now and at the peaks.
use alloc_timeline::Category;
use rustc_hash::FxHashMap;

use crate::amount::{Amount, positive};
use crate::group::Memberships;
use crate::high_water::{AmountAtPeaks, HighWaterMarks, Span};
use crate::scope::ScopeId;

/// A full list of accounts grows by 1 part in this, and by so many accounts at the least, instead of doubling: an account is long, and
/// a recording keeps the memory until it ends.
const ROOM: usize = 8;
const LEAST_ROOM: usize = 64;

/// An account's number.
pub type AccountId = u32;

/// See the module's description.
#[derive(Clone, Debug)]
pub struct Account {
    pub scope: ScopeId,
    pub category: Category,
    /// Where this account is summed up.
    pub groups: Memberships,
    /// The part of what is live that is in followed blocks.
    pub followed: Amount,
    amount: AmountAtPeaks,
    /// What the latest sample says.
    sampled: SampledBytes,
    /// Whether it may have changed since the latest sample.
    changed: bool,
}

impl Account {
    pub fn live(&self) -> Amount {
        self.amount.live()
    }

    /// What the account held at the peak of `span`.
    pub fn at(&self, span: Span, marks: &HighWaterMarks) -> Amount {
        self.amount.at(span, marks)
    }
}

/// Bytes as samples have them: those of an account below zero are 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct SampledBytes {
    pub usable: u64,
    pub requested: u64,
}

impl SampledBytes {
    fn of(amount: Amount) -> Self {
        match amount.usable {
            1.. => SampledBytes { usable: positive(amount.usable), requested: positive(amount.requested) },
            _ => SampledBytes::default(),
        }
    }
}

/// All accounts, and which of them changed since the latest sample.
#[derive(Debug, Default)]
pub struct Accounts {
    accounts: Vec<Account>,
    index: FxHashMap<(ScopeId, Category), AccountId>,
    /// The accounts that are marked as changed.
    changed: Vec<AccountId>,
    /// What the latest sample says of all accounts together.
    sampled: SampledBytes,
}

impl Accounts {
    /// The account of `scope` in `category`, if there is one yet.
    pub fn find(&self, scope: ScopeId, category: Category) -> Option<AccountId> {
        self.index.get(&(scope, category)).copied()
    }

    /// Opens an account, of which there must be none yet.
    pub fn open(&mut self, scope: ScopeId, category: Category, groups: Memberships) -> AccountId {
        let number = self.accounts.len() as AccountId;
        if self.accounts.len() == self.accounts.capacity() {
            self.accounts.reserve_exact(self.accounts.len() / ROOM + LEAST_ROOM);
        }
        self.accounts.push(Account {
            scope,
            category,
            groups,
            followed: Amount::default(),
            amount: AmountAtPeaks::default(),
            sampled: SampledBytes::default(),
            changed: false,
        });
        self.index.insert((scope, category), number);
        number
    }

    pub fn all(&self) -> &[Account] {
        &self.accounts
    }

    pub fn get(&self, account: AccountId) -> &Account {
        &self.accounts[account as usize]
    }

    pub fn get_mut(&mut self, account: AccountId) -> &mut Account {
        &mut self.accounts[account as usize]
    }

    /// Adds `amount` to what `account` holds.
    pub fn change(&mut self, account: AccountId, amount: Amount, marks: &HighWaterMarks) {
        let changed = &mut self.accounts[account as usize];
        changed.amount.change(amount, marks);
        if !std::mem::replace(&mut changed.changed, true) {
            self.changed.push(account);
        }
    }

    /// Moves `amount` from one account to another at the peak of `span`, and nowhere else.
    pub fn move_at_peak(&mut self, [from, to]: [AccountId; 2], amount: Amount, span: Span, marks: &HighWaterMarks) {
        self.get_mut(from).amount.change_at_peak(span, -amount, marks);
        self.get_mut(to).amount.change_at_peak(span, amount, marks);
    }

    /// Begins a new sample: gives the accounts whose usable bytes are not those of the sample before, with what they hold
    /// now, and what all accounts hold.
    pub fn take_changes(&mut self) -> (Vec<(u32, Category, u64)>, SampledBytes) {
        let mut rows = Vec::with_capacity(self.changed.len());
        for &account in &self.changed {
            let account = &mut self.accounts[account as usize];
            account.changed = false;
            let now = SampledBytes::of(account.live());
            let before = std::mem::replace(&mut account.sampled, now);
            self.sampled.usable = self.sampled.usable - before.usable + now.usable;
            self.sampled.requested = self.sampled.requested - before.requested + now.requested;
            if before.usable != now.usable {
                rows.push((account.scope.into(), account.category, now.usable));
            }
        }
        self.changed.clear();
        (rows, self.sampled)
    }
}
