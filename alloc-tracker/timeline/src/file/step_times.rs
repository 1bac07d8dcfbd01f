//! How long each scope was active, step by step.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The times of one step, or of neighbouring steps together: a timeline joins them when there are many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTimes {
    /// The first of the steps, counted from 1.
    pub first_step: u64,
    /// The last of them; the same for a step alone.
    pub last_step: u64,
    /// How long they took, on the thread that did them. What passed between two steps is not in it.
    pub wall_ns: u64,
    /// What that thread did meanwhile: its times sum to `wall_ns`.
    pub stepping_thread: ScopeTimes,
    /// What all other threads did in scopes meanwhile. Left out where they did nothing.
    #[serde(default, skip_serializing_if = "ScopeTimes::is_empty")]
    pub other_threads: ScopeTimes,
}

/// Times by scope, in columns of one length, in the order of the scopes' numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeTimes {
    /// Indices into [`Timeline::scopes`](crate::Timeline::scopes).
    pub scopes: Vec<u32>,
    /// How long each of them was the innermost scope.
    pub active_ns: Vec<u64>,
    /// How often each of them was entered.
    pub calls: Vec<u64>,
}

impl StepTimes {
    /// How many steps these are.
    pub fn steps(&self) -> u64 {
        self.last_step.saturating_sub(self.first_step).saturating_add(1)
    }

    /// Adds the steps that follow these.
    pub fn join(&mut self, next: &StepTimes) {
        self.last_step = next.last_step;
        self.wall_ns = self.wall_ns.saturating_add(next.wall_ns);
        self.stepping_thread.add(&next.stepping_thread);
        self.other_threads.add(&next.other_threads);
    }
}

impl ScopeTimes {
    /// Whether no scope is in it.
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }

    /// The rows: scope, active time, calls.
    pub fn rows(&self) -> impl Iterator<Item = (u32, u64, u64)> + '_ {
        let times = self.active_ns.iter().zip(&self.calls);
        self.scopes.iter().zip(times).map(|(&scope, (&active_ns, &calls))| (scope, active_ns, calls))
    }

    fn add(&mut self, other: &ScopeTimes) {
        let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (scope, active_ns, calls) in self.rows().chain(other.rows()) {
            let sum = sums.entry(scope).or_default();
            *sum = (sum.0.saturating_add(active_ns), sum.1.saturating_add(calls));
        }
        *self = sums.into_iter().map(|(scope, (active_ns, calls))| (scope, active_ns, calls)).collect();
    }
}

impl FromIterator<(u32, u64, u64)> for ScopeTimes {
    fn from_iter<I: IntoIterator<Item = (u32, u64, u64)>>(rows: I) -> Self {
        let mut times = ScopeTimes::default();
        for (scope, active_ns, calls) in rows {
            times.scopes.push(scope);
            times.active_ns.push(active_ns);
            times.calls.push(calls);
        }
        times
    }
}
