//! From the replay to the file's own types: rows, samples, peaks, counts.
use std::collections::BTreeMap;

use alloc_timeline::{Dimension, HighWater, NONE, PeakRequested, Row, Sample, ScopeTotals, Snapshot, Step, Totals};

use super::account::{Account, Amount, Span};
use super::group::{Group, Key};
use super::replay::Replay;
use super::sites::Told;
use super::watch::Seen;
use crate::ledger::pool;
use crate::ledger::slot::SLACK;
use crate::ledger::totals::{self, Counts};
use crate::mode::exact;
use crate::probe::Probed;
use crate::tag::scope::{self, ScopeId, TRACKER};
use std::sync::atomic::Ordering;

/// The most by which a total may be wrong: every thread may hold back that much, except in exact mode.
pub fn slack_bytes() -> u64 {
    if exact() {
        return 0;
    }
    pool::most_threads() as u64 * SLACK as u64
}

fn positive(bytes: i64) -> u64 {
    bytes.max(0) as u64
}

impl Replay {
    fn rows(&self, amount: impl Fn(&Account) -> Amount) -> Vec<Row> {
        let row = |account: &Account| {
            let held = amount(account);
            (held.usable > 0).then(|| Row {
                scope: account.scope.into(),
                category: account.category,
                usable_bytes: positive(held.usable),
                requested_bytes: positive(held.requested),
                blocks: positive(held.blocks),
            })
        };
        let mut rows: Vec<Row> = self.accounts.iter().filter_map(row).collect();
        rows.sort_by_key(|row| (row.scope, row.category));
        rows
    }

    /// A snapshot of these rows. An account below zero (a thread has published what it freed, another not yet what it
    /// allocated) has no row, so that the rows alone make the sum; the difference is within the slack.
    fn snapshot(&self, time_ns: u64, rows: Vec<Row>) -> Snapshot {
        Snapshot {
            time_ns,
            live_bytes: rows.iter().map(|row| row.usable_bytes).sum(),
            requested_bytes: rows.iter().map(|row| row.requested_bytes).sum(),
            slack_bytes: slack_bytes(),
            rows,
        }
    }

    /// Who owns what now.
    pub fn snapshot_now(&self, time_ns: u64) -> Snapshot {
        self.snapshot(time_ns, self.rows(Account::live))
    }

    /// Usable and requested bytes of [`snapshot_now`](Self::snapshot_now), without its rows.
    pub fn sums(&self) -> (u64, u64) {
        let live = self.accounts.iter().map(Account::live).filter(|held| held.usable > 0);
        live.fold((0, 0), |(usable, requested), held| {
            (usable + positive(held.usable), requested + positive(held.requested))
        })
    }

    /// Who owned what at the peak.
    pub fn snapshot_peak(&self) -> Snapshot {
        let high = &self.highs[Span::Session as usize];
        self.snapshot(high.time_ns, self.rows(|account| account.at(Span::Session, high)))
    }

    /// Who allocated, by stack.
    pub fn sites(&self) -> Told {
        self.sites.told(&self.highs[Span::Session as usize])
    }

    /// The most that was requested and not freed.
    pub fn peak_requested(&self) -> PeakRequested {
        let high = &self.requested_high;
        PeakRequested { time_ns: high.time_ns, bytes: positive(high.requested), blocks: positive(high.blocks) }
    }

    /// Number of the event that reached the session's peak: changes when the peak does.
    pub fn peak_event(&self) -> (u64, i64) {
        let high = &self.highs[Span::Session as usize];
        (high.event, high.usable)
    }

    /// The step that ends now.
    pub fn step_record(&self, index: u64, start_ns: u64, end_ns: u64) -> Step {
        let high = &self.highs[Span::Step as usize];
        let mut by_category = BTreeMap::new();
        let rows = self.rows(|account| account.at(Span::Step, high));
        for row in &rows {
            *by_category.entry(row.category.name().to_owned()).or_default() += row.usable_bytes;
        }
        let end = self.rows(Account::live);
        let requested = |rows: &[Row]| Some(rows.iter().map(|row| row.requested_bytes).sum());
        Step {
            index,
            start_ns,
            end_ns,
            peak_ns: high.time_ns,
            live_bytes: by_category.values().sum(),
            by_category,
            end_live_bytes: end.iter().map(|row| row.usable_bytes).sum(),
            requested_bytes: requested(&rows),
            end_requested_bytes: requested(&end),
        }
    }

    /// What is different at this tick from the last; begins a new interval.
    pub fn changes(&mut self, time_ns: u64, probes: Probed) -> Sample {
        let mut rows = Vec::with_capacity(self.stale.len());
        for &account in &self.stale {
            let account = &mut self.accounts[account as usize];
            account.stale = false;
            let held = account.live();
            // As in the rows of a snapshot: an account below zero has none.
            let holds = if held.usable > 0 { (positive(held.usable), positive(held.requested)) } else { (0, 0) };
            let held = std::mem::replace(&mut account.sampled, holds);
            self.sampled = (self.sampled.0 - held.0 + holds.0, self.sampled.1 - held.1 + holds.1);
            if held.0 != holds.0 {
                rows.push((account.scope.into(), account.category, holds.0));
            }
        }
        self.stale.clear();
        let (live_bytes, requested_bytes) = self.sampled;
        let high_bytes = positive(self.interval_high).max(live_bytes);
        self.interval_high = self.live;
        Sample { time_ns, live_bytes, requested_bytes, high_bytes, rows, probes }
    }

    /// What there is to see for those who wait for a number of bytes; begins a new interval.
    pub fn seen(&mut self, time_ns: u64) -> Seen {
        let high = std::mem::replace(&mut self.watched_high, if self.paused { 0 } else { self.live });
        let low = positive(std::mem::replace(&mut self.watched_low, self.live));
        let last_step_peak = self.last_step_peak.map(positive);
        let step = self.step.map(|(index, _)| (index, positive(self.highs[Span::Step as usize].usable)));
        Seen { high: positive(high), low, live: positive(self.live), step, last_step_peak, time_ns }
    }

    /// The own peaks of phases, layers and operators. Categories have none: what a block was for may be known only
    /// when it is freed.
    pub fn high_waters(&self) -> Vec<HighWater> {
        let name = |number: u32| if number == 0 { NONE } else { scope::text(number) };
        let water = |group: &Group| match group.key {
            Key::Named(dimension, number) if group.high.usable > 0 && dimension != Dimension::Category => {
                Some(HighWater {
                    dimension,
                    name: name(number).to_owned(),
                    live_bytes: positive(group.high.usable),
                    time_ns: group.high.time_ns,
                    process_live_bytes: positive(group.high.process),
                    requested_bytes: Some(positive(group.high.requested)),
                })
            }
            _ => None,
        };
        let mut waters: Vec<HighWater> = self.groups.iter().filter_map(water).collect();
        waters.sort_by(|a, b| (a.dimension, &a.name).cmp(&(b.dimension, &b.name)));
        waters
    }
}

/// What each scope has done since the process began: the totals, and what stands in the slots.
pub fn counts_by_scope() -> Vec<Counts> {
    let mut by_scope: Vec<Counts> = (0..scope::count() as ScopeId).map(|scope| totals::of(scope).read()).collect();
    for (scope, counts) in pool::live_slots().flat_map(|slot| slot.unpublished()) {
        if let Some(sum) = by_scope.get_mut(usize::from(scope)) {
            sum.add(&counts);
        }
    }
    by_scope
}

/// The same as the file has it.
pub fn totals(by_scope: &[Counts]) -> Totals {
    let seen = |(scope, counts): (usize, &Counts)| {
        (scope != usize::from(TRACKER) && *counts != Counts::default()).then_some(ScopeTotals {
            scope: scope as u32,
            allocations: counts.allocations,
            frees: counts.frees,
            allocated_bytes: counts.allocated,
        })
    };
    let own = by_scope.iter().enumerate().filter(|(scope, _)| *scope != usize::from(TRACKER));
    let requested_bytes = own.fold(0u64, |sum, (_, counts)| sum.wrapping_add(counts.requested));
    let by_scope: Vec<ScopeTotals> = by_scope.iter().enumerate().filter_map(seen).collect();
    Totals {
        allocations: by_scope.iter().map(|scope| scope.allocations).sum(),
        frees: by_scope.iter().map(|scope| scope.frees).sum(),
        allocated_bytes: by_scope.iter().map(|scope| scope.allocated_bytes).sum(),
        reallocations: totals::REALLOCATIONS.load(Ordering::Relaxed) + pool::resized(),
        requested_bytes: Some(requested_bytes),
        by_scope,
    }
}
