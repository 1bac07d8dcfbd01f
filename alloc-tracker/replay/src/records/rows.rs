//! Tables of owners: rows, snapshots, and the record of a step.
use alloc_timeline::{Category, Row, Snapshot, Step, Sums};

use crate::accounts::{Account, Accounts};
use crate::amount::{Amount, positive};
use crate::high_water::{HighWaterMarks, Span};
use crate::scope::ScopeId;
use crate::steps::OpenStep;

/// One row for each account with usable bytes; `amount` says how many it has.
fn rows(accounts: &Accounts, amount: impl Fn(&Account) -> Amount) -> Vec<Row> {
    rows_of(accounts.all().iter().map(|account| (account.scope, account.category, amount(account))))
}

/// One row for each owner with usable bytes. One below zero (a thread has published what it freed, another one not yet what
/// it allocated) has no row.
fn rows_of(owners: impl Iterator<Item = (ScopeId, Category, Amount)>) -> Vec<Row> {
    let row = |(scope, category, held): (ScopeId, Category, Amount)| {
        (held.usable > 0).then(|| Row {
            scope: scope.into(),
            category,
            usable_bytes: positive(held.usable),
            requested_bytes: positive(held.requested),
            blocks: positive(held.blocks),
        })
    };
    let mut rows: Vec<Row> = owners.filter_map(row).collect();
    rows.sort_by_key(Row::owner);
    rows
}

/// A snapshot of what `amount` says of the accounts. The rows alone make its sums; what accounts below zero would take
/// away is within the slack.
pub fn snapshot(accounts: &Accounts, amount: impl Fn(&Account) -> Amount, time_ns: u64, slack_bytes: u64) -> Snapshot {
    snapshot_of(rows(accounts, amount), time_ns, slack_bytes)
}

/// A snapshot of what each of `owners` holds.
pub fn snapshot_of_owners(owners: impl Iterator<Item = (ScopeId, Category, Amount)>, time_ns: u64) -> Snapshot {
    snapshot_of(rows_of(owners), time_ns, 0)
}

fn snapshot_of(rows: Vec<Row>, time_ns: u64, slack_bytes: u64) -> Snapshot {
    Snapshot {
        time_ns,
        live_bytes: rows.iter().map(|row| row.usable_bytes).sum(),
        requested_bytes: rows.iter().map(|row| row.requested_bytes).sum(),
        slack_bytes,
        rows,
    }
}

/// The sums of a snapshot of what `amount` says of the accounts, without its rows.
pub fn sums(accounts: &Accounts, amount: impl Fn(&Account) -> Amount) -> Sums {
    let held = accounts.all().iter().map(amount).filter(|held| held.usable > 0);
    let sums = |held: Amount| Sums {
        usable_bytes: positive(held.usable),
        requested_bytes: positive(held.requested),
        blocks: positive(held.blocks),
    };
    held.map(sums).collect()
}

/// The record of `step`, which ends now.
pub fn step(accounts: &Accounts, marks: &HighWaterMarks, step: OpenStep, end_ns: u64) -> Step {
    let at_peak = |account: &Account| account.at(Span::Step, marks);
    let (peak, end) = (sums(accounts, at_peak), sums(accounts, Account::live));
    let mut by_category = [0; Category::ALL.len()];
    for account in accounts.all() {
        by_category[account.category as usize] += positive(at_peak(account).usable);
    }
    let held = Category::ALL.into_iter().zip(by_category).filter(|&(_, bytes)| bytes > 0);
    Step {
        index: step.index,
        start_ns: step.start_ns,
        end_ns,
        peak_ns: marks.of(Span::Step).time_ns,
        live_bytes: peak.usable_bytes,
        by_category: held.map(|(category, bytes)| (category.name().to_owned(), bytes)).collect(),
        end_live_bytes: end.usable_bytes,
        requested_bytes: Some(peak.requested_bytes),
        end_requested_bytes: Some(end.requested_bytes),
        derived: step.is_derived,
    }
}
