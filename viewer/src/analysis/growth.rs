//! Growth: what survives from step to step, and whose it is.
use alloc_timeline::{Category, Dimension, NONE, Scope, Timeline};
use serde::Serialize;

use crate::analysis::{Trend, trend};

/// How one owner's bytes at the end of each step went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnerGrowth {
    /// Phase.
    pub phase: String,
    /// Layer path.
    pub layer: String,
    /// Operator.
    pub op: String,
    /// What the blocks are for.
    pub category: Category,
    /// Whether they grow.
    pub trend: Trend,
    /// Live bytes at the end of each step.
    pub live_bytes: Vec<u64>,
}

impl OwnerGrowth {
    /// What it held when the last step ended.
    pub fn last_bytes(&self) -> u64 {
        self.live_bytes.last().copied().unwrap_or(0)
    }

    /// The most specific name: the layer, else the operator, else the phase.
    pub fn name(&self) -> &str {
        [&self.layer, &self.op, &self.phase].into_iter().map(String::as_str).find(|name| *name != NONE).unwrap_or(NONE)
    }
}

/// What survives from step to step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepGrowth {
    /// The steps that are looked at.
    pub steps: Vec<u64>,
    /// All live bytes at the end of each.
    pub live_bytes: Vec<u64>,
    /// What all that grow become more by in a step.
    pub bytes_per_step: i64,
    /// Those whose bytes changed: those that grow first, the fastest before the others; then by what they held last.
    pub owners: Vec<OwnerGrowth>,
    /// What all others held at the end of each step; with the owners' it is all.
    pub other_bytes: Vec<u64>,
    /// Whether the others together grow.
    pub others: Trend,
}

/// The growth of a run; `None` when nobody recorded it.
pub fn step_growth(timeline: &Timeline) -> Option<StepGrowth> {
    let growth = &timeline.analysis.as_ref()?.growth;
    let nobody = Scope::default();
    let mut owners: Vec<OwnerGrowth> = growth
        .owners
        .iter()
        .map(|owner| {
            let scope = timeline.scopes.get(owner.scope as usize).unwrap_or(&nobody);
            let name = |dimension: Dimension| dimension.of(scope, owner.category).to_owned();
            OwnerGrowth {
                phase: name(Dimension::Phase),
                layer: name(Dimension::Layer),
                op: name(Dimension::Op),
                category: owner.category,
                trend: trend(&growth.steps, &owner.live_bytes),
                live_bytes: owner.live_bytes.clone(),
            }
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
