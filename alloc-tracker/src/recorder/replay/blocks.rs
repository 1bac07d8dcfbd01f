//! The blocks that are known by their address: how they come, go, change their size, and get another owner or category.
use alloc_timeline::{Category, Fate};

use super::{Block, CELL, Replay, base_category, storage_category};
use crate::event::{Event, Kind};
use crate::ledger::totals::{self, Counts};
use crate::recorder::account::{Amount, SPANS, Span};
use crate::recorder::ownership::Way;
use crate::tag::scope::ScopeId;

impl Replay {
    pub(super) fn allocated(&mut self, number: u64, event: &Event, time_ns: u64) {
        let amount = Amount { usable: event.b as i64, requested: event.c as i64, blocks: 1 };
        let fresh = u64::from(event.kind == Kind::Allocated);
        let counts = Counts {
            allocated: event.b,
            requested: event.c,
            allocations: fresh,
            moved_in: 1 - fresh,
            ..Counts::default()
        };
        totals::of(event.scope).add(&counts);
        let category = if event.e == 1 { storage_category(event.scope) } else { base_category(event.scope) };
        let account = self.change(event.scope, category, amount, number, time_ns);
        let (born_ns, step) = (time_ns.max(1), self.steps);
        let scope = event.scope;
        let block = Block { account, scope, amount, event: number, call: event.d, born_ns, step, labelled: false };
        self.known.made(&mut self.accounts[account as usize], amount);
        self.enlarge(account, amount.usable);
        if let Some(ghost) = self.blocks.insert(event.a, block) {
            // Its free was dropped: it cannot live at an address that was given out again.
            self.died(&ghost, None, false, time_ns);
            self.change_account(ghost.account, ghost.amount.negated(), number, time_ns);
        }
    }

    pub(super) fn freed(&mut self, number: u64, event: &Event, time_ns: u64) {
        let block = self.blocks.remove(&event.a).unwrap_or_else(|| self.stranger(event));
        let counts = Counts {
            freed: block.amount.usable as u64,
            requested_freed: block.amount.requested as u64,
            frees: 1,
            ..Counts::default()
        };
        totals::of(block.scope).add(&counts);
        let is_workspace = block.call != 0 && block.call == event.d && !block.labelled;
        let to = (event.e > 0).then(|| self.cell_of((event.e - 1) as ScopeId));
        self.died(&block, to, is_workspace, time_ns);
        if is_workspace {
            let workspace = self.account(block.scope, Category::Workspace);
            self.move_past(&block, workspace);
        }
        self.change_account(block.account, block.amount.negated(), number, time_ns);
    }

    /// Notes what became of a block that is freed in the layer and phase `to`.
    fn died(&mut self, block: &Block, to: Option<u32>, is_workspace: bool, time_ns: u64) {
        if block.born_ns == 0 {
            return;
        }
        let account = &mut self.accounts[block.account as usize];
        let from = account.groups[CELL];
        let category = if is_workspace { Category::Workspace } else { account.category };
        let fate = if to == Some(from) && block.step == self.steps { Fate::Temporary } else { Fate::Freed };
        let lifetime_ns = time_ns.saturating_sub(block.born_ns);
        self.known.died(account, block.amount, Way { from, to, fate, category }, lifetime_ns);
    }

    /// A block of before this recording, which the totals count by its scope alone.
    pub(super) fn stranger(&mut self, event: &Event) -> Block {
        let account = self.account(event.scope, base_category(event.scope));
        let amount = Amount { usable: event.b as i64, requested: event.c as i64, blocks: 1 };
        Block { account, scope: event.scope, amount, event: 0, call: 0, born_ns: 0, step: 0, labelled: false }
    }

    pub(super) fn put(&mut self, number: u64, event: &Event, time_ns: u64) {
        let Some(mut block) = self.moving.remove(&event.e) else { return };
        if event.a == 0 {
            // It went on in the small lane, which counts it there.
            let (allocated, requested) = (block.amount.usable as u64, block.amount.requested as u64);
            let gone = Counts {
                allocated: allocated.wrapping_neg(),
                requested: requested.wrapping_neg(),
                moved_in: 1u64.wrapping_neg(),
                ..Counts::default()
            };
            totals::of(block.scope).add(&gone);
            if block.born_ns != 0 {
                self.known.lost(&mut self.accounts[block.account as usize], block.amount);
            }
            return self.change_account(block.account, block.amount.negated(), number, time_ns);
        }
        let usable = event.b as i64 - block.amount.usable;
        let requested = event.c as i64 - block.amount.requested;
        let counts = Counts {
            allocated: usable.max(0) as u64,
            freed: (-usable).max(0) as u64,
            requested: requested.max(0) as u64,
            requested_freed: (-requested).max(0) as u64,
            ..Counts::default()
        };
        totals::of(block.scope).add(&counts);
        let change = Amount { usable, requested, blocks: 0 };
        if block.born_ns != 0 {
            self.known.resized(&mut self.accounts[block.account as usize], block.amount, change);
            self.enlarge(block.account, event.b as i64);
        }
        self.change_account(block.account, change, number, time_ns);
        block.amount.add(change);
        block.event = number;
        self.blocks.insert(event.a, block);
    }

    pub(super) fn labelled(&mut self, event: &Event, time_ns: u64) {
        let category = Category::ALL.get(event.b as usize).copied().unwrap_or(Category::Other);
        let Some(mut block) = self.blocks.get(&event.a).copied() else { return };
        let account = self.account(event.scope, category);
        block.labelled = true;
        if event.scope != block.scope {
            self.hand_over(&block, event.scope);
            block.scope = event.scope;
        }
        if account != block.account {
            self.move_past(&block, account);
            // No total changes here, so this can be no new peak of the process; it can be one of the new owner.
            self.change_live(block.account, block.amount.negated());
            self.change_live(account, block.amount);
            if block.born_ns != 0 {
                let (from, to) = (block.account as usize, account as usize);
                self.known.moved(&mut self.accounts, from, to, block.amount);
                self.enlarge(account, block.amount.usable);
            }
            self.change_groups(block.account, block.amount.negated());
            self.change_groups(account, block.amount);
            self.raise_groups(account, 1, time_ns);
            block.account = account;
        }
        self.blocks.insert(event.a, block);
    }

    /// Counts `block` for `scope`, which owns it from now on, and no more for the scope that allocated it.
    fn hand_over(&mut self, block: &Block, scope: ScopeId) {
        let (allocated, requested) = (block.amount.usable as u64, block.amount.requested as u64);
        let given = Counts { allocated, requested, moved_in: 1, ..Counts::default() };
        let taken = Counts {
            allocated: allocated.wrapping_neg(),
            requested: requested.wrapping_neg(),
            moved_in: 1u64.wrapping_neg(),
            ..Counts::default()
        };
        totals::of(block.scope).add(&taken);
        totals::of(scope).add(&given);
    }

    /// Moves `block` to `account` in those peaks at which it was live and as large as now.
    fn move_past(&mut self, block: &Block, account: u32) {
        for span in SPANS {
            let high = self.highs[span as usize];
            if block.event <= high.event {
                self.peak_amended |= span == Span::Session;
                self.accounts[block.account as usize].change_past(span, block.amount.negated(), &high);
                self.accounts[account as usize].change_past(span, block.amount, &high);
            }
        }
    }
}
