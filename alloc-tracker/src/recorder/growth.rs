//! What is live at the end of each step, by account.
//!
//! An account's column holds only its changes. When there are more than [`MOST_STEPS`] steps, every second one is
//! forgotten, and from then on only every second one kept; the latest is always there.
use alloc_timeline::{Growth, GrowthOwner};

use super::account::Account;

/// The most steps that are kept.
const MOST_STEPS: usize = 256;
/// Owners with a column of their own in the file.
const MOST_OWNERS: usize = 64;
/// Accounts with a column of their own here; those that come later are part of the rest.
const MOST_ACCOUNTS: usize = 8 * 1024;

/// From which kept step on an account held how much. Nothing before the first.
type Column = Vec<(u32, i64)>;

/// See the module's description.
#[derive(Debug)]
pub struct History {
    stride: u64,
    steps: Vec<u64>,
    totals: Vec<i64>,
    columns: Vec<Column>,
}

impl Default for History {
    fn default() -> Self {
        History { stride: 1, steps: Vec::new(), totals: Vec::new(), columns: Vec::new() }
    }
}

/// What a column says of the kept step with that number.
fn at(column: &Column, place: usize) -> i64 {
    let after = column.partition_point(|(from, _)| *from as usize <= place);
    after.checked_sub(1).map_or(0, |last| column[last].1)
}

impl History {
    fn is_regular(&self, step: u64) -> bool {
        (step - 1).is_multiple_of(self.stride)
    }

    /// Step number `step` (from 1) ended with these accounts.
    pub fn step_ended(&mut self, step: u64, accounts: &[Account]) {
        if self.steps.last().is_some_and(|&last| !self.is_regular(last)) {
            self.forget_last();
        }
        if self.steps.len() >= MOST_STEPS {
            self.thin_out();
        }
        let place = self.steps.len() as u32;
        self.steps.push(step);
        self.columns.resize_with(accounts.len().min(MOST_ACCOUNTS), Vec::new);
        let held = |account: &Account| account.live().usable.max(0);
        self.totals.push(accounts.iter().map(held).sum());
        for (column, account) in self.columns.iter_mut().zip(accounts) {
            let held = held(account);
            if held != column.last().map_or(0, |last| last.1) {
                column.push((place, held));
            }
        }
    }

    fn forget_last(&mut self) {
        self.steps.pop();
        self.totals.pop();
        let gone = self.steps.len() as u32;
        for column in &mut self.columns {
            column.pop_if(|(from, _)| *from == gone);
        }
    }

    fn thin_out(&mut self) {
        self.stride *= 2;
        let kept: Vec<usize> = (0..self.steps.len()).filter(|&place| self.is_regular(self.steps[place])).collect();
        for column in &mut self.columns {
            let mut thinner = Column::new();
            for (place, &old) in kept.iter().enumerate() {
                let held = at(column, old);
                if held != thinner.last().map_or(0, |last| last.1) {
                    thinner.push((place as u32, held));
                }
            }
            *column = thinner;
        }
        self.totals = kept.iter().map(|&place| self.totals[place]).collect();
        self.steps = kept.iter().map(|&place| self.steps[place]).collect();
    }

    /// As the file has it: half of the columns are those whose lowest point of the last third of the steps is the
    /// farthest above that of the third before, the others those that changed the most.
    pub fn table(&self, accounts: &[Account]) -> Growth {
        let count = self.steps.len();
        let mut candidates: Vec<(usize, Vec<u64>)> = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            if column.len() > 1 || column.first().is_some_and(|(from, _)| *from > 0) {
                candidates.push((index, (0..count).map(|place| at(column, place) as u64).collect()));
            }
        }
        let lowest = |values: &[u64]| values.iter().copied().min().unwrap_or(0);
        let rise =
            |values: &[u64]| lowest(&values[count * 2 / 3..]).saturating_sub(lowest(&values[count / 3..count * 2 / 3]));
        let change = |values: &[u64]| values.iter().copied().max().unwrap_or(0) - lowest(values);
        candidates.sort_by_key(|(index, values)| (std::cmp::Reverse(rise(values)), *index));
        let split = (MOST_OWNERS / 2).min(candidates.len());
        candidates[split..].sort_by_key(|(index, values)| (std::cmp::Reverse(change(values)), *index));
        candidates.truncate(MOST_OWNERS);
        let mut other: Vec<u64> = self.totals.iter().map(|&total| total as u64).collect();
        let owners: Vec<GrowthOwner> = candidates
            .into_iter()
            .map(|(index, live_bytes)| {
                other.iter_mut().zip(&live_bytes).for_each(|(other, own)| *other -= own);
                let account = &accounts[index];
                GrowthOwner { scope: account.scope.into(), category: account.category, live_bytes }
            })
            .collect();
        let live_bytes = self.totals.iter().map(|&total| total as u64).collect();
        Growth { steps: self.steps.clone(), live_bytes, owners, other_bytes: other }
    }
}

#[cfg(test)]
mod tests {
    use alloc_timeline::Category;

    use super::super::account::{Amount, HighWater};
    use super::*;

    fn add(account: &mut Account, usable: i64) {
        account.change(Amount { usable, requested: usable, blocks: 1 }, &[HighWater::default(); 2]);
    }

    /// Account 0 holds 1,000 for ever, account 1 leaks 10 a step, account 2 comes and goes.
    fn after(steps: u64) -> Growth {
        let mut accounts: Vec<Account> = (0..3).map(|scope| Account::new(scope, Category::Other, [0; 5])).collect();
        let mut history = History::default();
        add(&mut accounts[0], 1_000);
        for step in 1..=steps {
            add(&mut accounts[1], 10);
            add(&mut accounts[2], if step % 2 == 1 { 500 } else { -500 });
            history.step_ended(step, &accounts);
        }
        history.table(&accounts)
    }

    #[test]
    fn few_steps_are_all_kept() {
        let growth = after(4);
        assert_eq!(growth.steps, [1, 2, 3, 4]);
        assert_eq!(growth.live_bytes, [1_510, 1_020, 1_530, 1_040]);
        let column = |scope| &growth.owners.iter().find(|owner| owner.scope == scope).expect("a column").live_bytes;
        assert_eq!(column(1), &[10, 20, 30, 40]);
        assert_eq!(column(2), &[500, 0, 500, 0]);
        assert_eq!(growth.other_bytes, [1_000; 4], "what never changes has no column");
    }

    /// 1,000 steps: first every second, then every fourth is kept (1, 5, ... 997: 250 of them), and the latest.
    #[test]
    fn many_steps_are_thinned_out_and_the_latest_is_there() {
        let growth = after(1_000);
        assert_eq!(growth.steps.len(), 251);
        assert_eq!((growth.steps[1], growth.steps[249], growth.steps[250]), (5, 997, 1_000));
        let leak = growth.owners.iter().find(|owner| owner.scope == 1).expect("a column");
        for (step, bytes) in growth.steps.iter().zip(&leak.live_bytes) {
            assert_eq!(*bytes, 10 * step);
        }
        for (place, step) in growth.steps.iter().enumerate() {
            let own: u64 = growth.owners.iter().map(|owner| owner.live_bytes[place]).sum();
            assert_eq!(own + growth.other_bytes[place], growth.live_bytes[place], "step {step}");
        }
    }
}
