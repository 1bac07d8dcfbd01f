//! What is left at exit, by owner, and which of it became more with every step.
use std::collections::BTreeMap;

use alloc_timeline::{Category, Dimension, Scope, Timeline};
use serde::Serialize;

use crate::analysis::{Trend, step_growth};

/// One owner of what is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leak {
    /// Layer path.
    pub layer: String,
    /// Phase.
    pub phase: String,
    /// Operator.
    pub op: String,
    /// What the blocks are for.
    pub category: Category,
    /// Usable bytes.
    pub usable_bytes: u64,
    /// Requested bytes.
    pub requested_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// How its bytes went from step to step; absent when they never changed, or there were no steps.
    pub trend: Option<Trend>,
}

/// The owners of all that was live at exit: those that grew first, then the biggest. They sum to the live bytes.
pub fn leaks(timeline: &Timeline) -> Vec<Leak> {
    let nobody = Scope::default();
    let growth = step_growth(timeline).map(|growth| growth.owners).unwrap_or_default();
    let trends: BTreeMap<(&str, &str, &str, Category), Trend> = growth
        .iter()
        .map(|owner| ((owner.phase.as_str(), owner.layer.as_str(), owner.op.as_str(), owner.category), owner.trend))
        .collect();
    let mut leaks: Vec<Leak> = timeline
        .at_exit
        .snapshot
        .rows
        .iter()
        .map(|row| {
            let scope = timeline.scopes.get(row.scope as usize).unwrap_or(&nobody);
            let name = |dimension: Dimension| dimension.of(scope, row.category);
            let (phase, layer, op) = (name(Dimension::Phase), name(Dimension::Layer), name(Dimension::Op));
            Leak {
                layer: layer.to_owned(),
                phase: phase.to_owned(),
                op: op.to_owned(),
                category: row.category,
                usable_bytes: row.usable_bytes,
                requested_bytes: row.requested_bytes,
                blocks: row.blocks,
                trend: trends.get(&(phase, layer, op, row.category)).copied(),
            }
        })
        .collect();
    let grows = |leak: &Leak| leak.trend.is_some_and(|trend| trend.is_growth());
    leaks.sort_by_key(|leak| (!grows(leak), std::cmp::Reverse(leak.usable_bytes)));
    leaks
}
