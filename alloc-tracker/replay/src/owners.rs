//! Who owns what: the accounts, the groups that sum them up, and the peaks of the process, which change together.
use alloc_timeline::Category;

use crate::accounts::{AccountId, Accounts};
use crate::amount::Amount;
use crate::group::GroupId;
use crate::groups::Groups;
use crate::high_water::{Moment, Span};
use crate::peaks::Peaks;
use crate::scope::{RUNTIME, ScopeId, ScopeNames};

/// See the module's description. Between events the accounts' live amounts sum to the process's.
#[derive(Debug)]
pub struct Owners {
    names: Box<dyn ScopeNames + Send>,
    /// The base category of each scope that was seen.
    base: Vec<Option<Category>>,
    pub accounts: Accounts,
    pub groups: Groups,
    pub peaks: Peaks,
    /// Whether blocks of the session's peak were given another owner or category since this was last asked.
    peak_amended: bool,
}

impl Owners {
    /// Nobody owns anything yet.
    pub fn new(names: Box<dyn ScopeNames + Send>) -> Self {
        let (base, accounts, groups, peaks) = Default::default();
        Owners { names, base, accounts, groups, peaks, peak_amended: false }
    }

    /// What scope and name numbers stand for.
    pub fn names(&self) -> &dyn ScopeNames {
        &*self.names
    }

    /// Whether the session's peak was amended since this was last asked.
    pub fn take_peak_amended(&mut self) -> bool {
        std::mem::take(&mut self.peak_amended)
    }

    /// What a block of `scope` is for when nothing else is known of it.
    fn base_category(&mut self, scope: ScopeId) -> Category {
        let index = usize::from(scope);
        if let Some(&Some(category)) = self.base.get(index) {
            return category;
        }
        let category = match scope {
            RUNTIME => Category::Runtime,
            scope if self.names.parts(scope).op != 0 => Category::Metadata,
            _ => Category::Other,
        };
        if self.base.len() <= index {
            self.base.resize(index + 1, None);
        }
        self.base[index] = Some(category);
        category
    }

    /// The account of `scope` in `category`, or in its base category; opened when there is none.
    pub fn account(&mut self, scope: ScopeId, category: Option<Category>) -> AccountId {
        let category = category.unwrap_or_else(|| self.base_category(scope));
        if let Some(account) = self.accounts.find(scope, category) {
            return account;
        }
        let parts = self.names.parts(scope);
        let groups = self.groups.join(scope, parts, category);
        self.accounts.open(scope, category, groups)
    }

    /// The group of the layer and phase of `scope`.
    pub fn place_of(&mut self, scope: ScopeId) -> GroupId {
        self.groups.place_of(scope, || self.names.parts(scope))
    }

    /// Adds `amount` to what `account` holds, and so to its groups and the process.
    pub fn change(&mut self, account: AccountId, amount: Amount, at: Moment) {
        self.accounts.change(account, amount, self.peaks.marks());
        self.peaks.change(amount);
        let changed = self.accounts.get(account);
        self.groups.change(&changed.groups, changed.category, amount);
        if !self.peaks.is_paused() {
            self.groups.raise(&changed.groups, 0, self.peaks.live().usable, at.time_ns);
            self.peaks.raise(at);
        }
    }

    /// Moves `amount` from one account to another. The process holds as much as before, so this can be no new peak of it;
    /// it can be one of the new owner.
    pub fn transfer(&mut self, [from, to]: [AccountId; 2], amount: Amount, at: Moment) {
        for (account, amount) in [(from, -amount), (to, amount)] {
            self.accounts.change(account, amount, self.peaks.marks());
            let changed = self.accounts.get(account);
            self.groups.change(&changed.groups, changed.category, amount);
        }
        if !self.peaks.is_paused() {
            let groups = self.accounts.get(to).groups;
            self.groups.raise(&groups, 1, self.peaks.live().usable, at.time_ns);
        }
    }

    /// Moves `amount` from one account to another at those peaks that event number `since` or a later one reached.
    pub fn transfer_at_peaks(&mut self, accounts: [AccountId; 2], amount: Amount, since: u64) {
        for span in Span::ALL {
            let marks = self.peaks.marks();
            if since <= marks.of(span).event {
                self.peak_amended |= span == Span::Session;
                self.accounts.move_at_peak(accounts, amount, span, marks);
            }
        }
    }

    /// The groups of `account` have a followed block of `usable` bytes.
    pub fn note_block(&mut self, account: AccountId, usable: u64) {
        self.groups.note_block(&self.accounts.get(account).groups, usable as i64);
    }
}
