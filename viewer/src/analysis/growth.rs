//! Growth: which bytes stay from step to step, and whose they are.
use alloc_timeline::{Category, Timeline};
use serde::Serialize;

use crate::analysis::trend::{Trend, trend};
use crate::model::ScopeNames;

/// What one owner held at the end of each step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnerTrend {
    /// Layer, phase and operator.
    #[serde(flatten)]
    pub scope: ScopeNames,
    /// What the blocks are for.
    pub category: Category,
    /// Whether its bytes grow.
    pub trend: Trend,
    /// Live bytes at the end of each step.
    pub live_bytes: Vec<u64>,
}

impl OwnerTrend {
    /// The bytes that it held when the last step ended.
    pub fn last_bytes(&self) -> u64 {
        self.live_bytes.last().copied().unwrap_or(0)
    }
}

/// What stays from step to step. All columns are as long as `steps`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepGrowth {
    /// The numbers of the steps.
    pub steps: Vec<u64>,
    /// All live bytes at the end of each step.
    pub live_bytes: Vec<u64>,
    /// By how many bytes a step everything that grows becomes more, summed up.
    pub bytes_per_step: i64,
    /// The owners whose bytes changed: first those that grow, the fastest first; then the others, the biggest first.
    pub owners: Vec<OwnerTrend>,
    /// The bytes of all other owners at the end of each step. Together with `owners` they are all live bytes.
    pub other_bytes: Vec<u64>,
    /// Whether the other owners together grow.
    pub others: Trend,
}

/// The growth of a run; `None` when it was not recorded.
pub fn step_growth(timeline: &Timeline) -> Option<StepGrowth> {
    let growth = &timeline.analysis.as_ref()?.growth;
    let owners = growth.owners.iter();
    let mut owners: Vec<OwnerTrend> = owners
        .map(|owner| OwnerTrend {
            scope: ScopeNames::new(&timeline.scopes, owner.scope),
            category: owner.category,
            trend: trend(&growth.steps, &owner.live_bytes),
            live_bytes: owner.live_bytes.clone(),
        })
        .collect();
    owners.sort_by_key(|owner| {
        let rate = owner.trend.bytes_per_step();
        (!owner.trend.is_growth(), std::cmp::Reverse((rate, owner.last_bytes())))
    });
    let others = trend(&growth.steps, &growth.other_bytes);
    let rates = owners.iter().map(|owner| owner.trend.bytes_per_step());
    Some(StepGrowth {
        steps: growth.steps.clone(),
        live_bytes: growth.live_bytes.clone(),
        bytes_per_step: rates.chain([others.bytes_per_step()]).fold(0, i64::saturating_add),
        owners,
        other_bytes: growth.other_bytes.clone(),
        others,
    })
}
