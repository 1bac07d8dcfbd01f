//! An account: what one scope holds in one category, now and at the peaks.
//!
//! A peak is remembered without copying all accounts at every new one (the idea of memray's high-water mark): every new
//! peak bumps an epoch, and an account that changes for the first time in an epoch first puts its old amount aside. So
//! an account's amount at the peak is what was put aside in the present epoch, or, if nothing was, what it holds.
use alloc_timeline::Category;

use crate::tag::scope::ScopeId;

/// Bytes and blocks; negative for moments, while what one thread freed is known and what another allocated is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub usable: i64,
    pub requested: i64,
    pub blocks: i64,
}

impl Amount {
    pub fn add(&mut self, other: Amount) {
        self.usable += other.usable;
        self.requested += other.requested;
        self.blocks += other.blocks;
    }

    pub fn negated(self) -> Amount {
        Amount { usable: -self.usable, requested: -self.requested, blocks: -self.blocks }
    }
}

/// Which peak: of the whole session, or of the step that is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    Session = 0,
    Step = 1,
}

/// Both of them.
pub const SPANS: [Span; 2] = [Span::Session, Span::Step];

/// The highest point of a span so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighWater {
    pub usable: i64,
    pub time_ns: u64,
    /// Number of the event that reached it.
    pub event: u64,
    /// Bumped by every new peak, and by every new span.
    pub epoch: u64,
}

/// The most requested bytes so far, and how many blocks they were.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestedHigh {
    pub requested: i64,
    pub blocks: i64,
    pub time_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Aside {
    epoch: u64,
    amount: Amount,
}

/// An amount now and at the peaks.
#[derive(Clone, Debug, Default)]
pub struct Level {
    live: Amount,
    aside: [Aside; 2],
}

impl Level {
    pub fn live(&self) -> Amount {
        self.live
    }

    /// What it was at the peak of `span`.
    pub fn at(&self, span: Span, high: &HighWater) -> Amount {
        let aside = &self.aside[span as usize];
        if aside.epoch == high.epoch { aside.amount } else { self.live }
    }

    /// Adds `amount`, putting the old one aside where a peak of these epochs may want it.
    pub fn change(&mut self, amount: Amount, highs: &[HighWater; 2]) {
        for span in SPANS {
            self.put_aside(span, &highs[span as usize]);
        }
        self.live.add(amount);
    }

    /// Adds `amount` to what it was at the peak of `span`, and to nothing else.
    fn change_past(&mut self, span: Span, amount: Amount, high: &HighWater) {
        self.put_aside(span, high);
        self.aside[span as usize].amount.add(amount);
    }

    fn put_aside(&mut self, span: Span, high: &HighWater) {
        let aside = &mut self.aside[span as usize];
        if aside.epoch != high.epoch {
            *aside = Aside { epoch: high.epoch, amount: self.live };
        }
    }
}

/// See the module's description.
#[derive(Clone, Debug)]
pub struct Account {
    pub scope: ScopeId,
    pub category: Category,
    /// Where this account is summed up: by phase, layer, op and category, and by layer in a phase.
    pub groups: [u32; 5],
    /// The part of what is live that is known by address.
    pub known: Amount,
    /// Usable and requested bytes in the samples so far.
    pub sampled: (u64, u64),
    /// Whether it may hold something else by now.
    pub stale: bool,
    level: Level,
}

impl Account {
    pub fn new(scope: ScopeId, category: Category, groups: [u32; 5]) -> Self {
        Account {
            scope,
            category,
            groups,
            known: Amount::default(),
            sampled: (0, 0),
            stale: false,
            level: Level::default(),
        }
    }

    pub fn live(&self) -> Amount {
        self.level.live()
    }

    /// What the account held at the peak of `span`.
    pub fn at(&self, span: Span, high: &HighWater) -> Amount {
        self.level.at(span, high)
    }

    /// As [`Level::change`].
    pub fn change(&mut self, amount: Amount, highs: &[HighWater; 2]) {
        self.level.change(amount, highs);
    }

    /// Adds `amount` to what the account held at the peak of `span`, and to nothing else.
    pub fn change_past(&mut self, span: Span, amount: Amount, high: &HighWater) {
        self.level.change_past(span, amount, high);
    }
}
