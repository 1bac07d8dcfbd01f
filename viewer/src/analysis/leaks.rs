//! What was live at exit, by owner, with what each owner did from step to step.
use std::collections::BTreeMap;

use alloc_timeline::{Category, Timeline};
use serde::Serialize;

use crate::analysis::growth::step_growth;
use crate::analysis::trend::Trend;
use crate::model::ScopeNames;

/// One owner of blocks that were live at exit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leak {
    /// Layer, phase and operator.
    #[serde(flatten)]
    pub scope: ScopeNames,
    /// What the blocks are for.
    pub category: Category,
    /// Usable bytes.
    pub usable_bytes: u64,
    /// Requested bytes.
    pub requested_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// What its bytes did from step to step. Absent when they never changed, or when there were no steps.
    pub trend: Option<Trend>,
}

/// The owners of everything that was live at exit: first those that grew, then the others, the biggest first in each
/// group. Their bytes sum to the live bytes. Empty where the recording did not reach its end.
pub fn leaks(timeline: &Timeline) -> Vec<Leak> {
    let growth = step_growth(timeline).map(|growth| growth.owners).unwrap_or_default();
    let trends: BTreeMap<(&ScopeNames, Category), Trend> =
        growth.iter().map(|owner| ((&owner.scope, owner.category), owner.trend)).collect();
    let rows = timeline.at_exit.iter().flat_map(|at_exit| &at_exit.snapshot.rows);
    let mut leaks: Vec<Leak> = rows
        .map(|row| {
            let scope = ScopeNames::new(&timeline.scopes, row.scope);
            let trend = trends.get(&(&scope, row.category)).copied();
            Leak {
                scope,
                category: row.category,
                usable_bytes: row.usable_bytes,
                requested_bytes: row.requested_bytes,
                blocks: row.blocks,
                trend,
            }
        })
        .collect();
    let grows = |leak: &Leak| leak.trend.is_some_and(|trend| trend.is_growth());
    leaks.sort_by_key(|leak| (!grows(leak), std::cmp::Reverse(leak.usable_bytes)));
    leaks
}
