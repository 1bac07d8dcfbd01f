//! Who costs memory, beside who costs time: for each layer and each operation, the bytes at the peak by category and the
//! self time forward and backward.
use std::collections::BTreeMap;

use alloc_timeline::{Dimension, NONE, Timeline};

use crate::analysis::self_time::{NameTime, NoTimes, TimeBasis, self_times};
use crate::model::{Pass, ScopeNames, operation_of, pass_of};

/// What one name costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The name; [`NONE`] where there was none.
    pub name: String,
    /// Bytes at the peak by category, in the order of the categories.
    pub by_category: Vec<(String, u64)>,
    /// Self time, summed over the steps of the basis.
    pub time: NameTime,
}

/// The costs of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// What the times are of.
    pub basis: TimeBasis,
    /// The layers, in the order in which the forward pass comes to them; those it does not come to are the last.
    pub layers: Vec<Cost>,
    /// The operations, those that cost most of memory or time first.
    pub operations: Vec<Cost>,
}

impl Cost {
    /// All bytes at the peak.
    pub fn bytes(&self) -> u64 {
        self.by_category.iter().map(|(_, bytes)| bytes).fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Adds what another name costs.
    pub fn add(&mut self, other: &Cost) {
        for (category, bytes) in &other.by_category {
            match self.by_category.iter_mut().find(|(own, _)| own == category) {
                Some((_, sum)) => *sum = sum.saturating_add(*bytes),
                None => self.by_category.push((category.clone(), *bytes)),
            }
        }
        let (own, other) = (&mut self.time, &other.time);
        own.self_ns = own.self_ns.saturating_add(other.self_ns);
        own.forward_ns = own.forward_ns.saturating_add(other.forward_ns);
        own.backward_ns = own.backward_ns.saturating_add(other.backward_ns);
    }
}

/// What each layer and operation costs.
///
/// # Errors
/// When nobody asked for times.
pub fn costs(timeline: &Timeline) -> Result<Costs, NoTimes> {
    let times = self_times(timeline, None)?;
    let mut layers = joined(timeline, |names| names.layer.clone(), times.by(Dimension::Layer));
    let order = forward_order(timeline);
    layers.sort_by_key(|cost| (order.get(&cost.name).copied().unwrap_or(usize::MAX), cost.name == NONE));
    let mut operations = joined(timeline, |names| operation_of(&names.op), times.by_operation());
    let (bytes, ns) = (timeline.peak.live_bytes.max(1) as f64, times.whole_ns().max(1) as f64);
    let share = |cost: &Cost| (cost.bytes() as f64 / bytes).max(cost.time.self_ns as f64 / ns);
    operations.sort_by(|a, b| share(b).total_cmp(&share(a)).then_with(|| a.name.cmp(&b.name)));
    Ok(Costs { basis: times.basis, layers, operations })
}

/// The names that have bytes at the peak or time.
fn joined(timeline: &Timeline, name: impl Fn(&ScopeNames) -> String, times: Vec<NameTime>) -> Vec<Cost> {
    let mut costs: BTreeMap<String, Cost> = BTreeMap::new();
    let mut rows: Vec<_> = timeline.peak.rows.iter().collect();
    rows.sort_by_key(|row| row.category);
    for row in rows {
        let name = name(&ScopeNames::new(&timeline.scopes, row.scope));
        let by_category = vec![(row.category.to_string(), row.usable_bytes)];
        costs.entry(name).or_default().add(&Cost { by_category, ..Cost::default() });
    }
    for time in times {
        costs.entry(time.name.clone()).or_default().time = time.clone();
    }
    let named = costs.into_iter().map(|(name, cost)| Cost { name, ..cost });
    named.filter(|cost| cost.bytes() > 0 || cost.time.self_ns > 0).collect()
}

/// For each layer, when the forward pass came to it: the number of its first scope there.
fn forward_order(timeline: &Timeline) -> BTreeMap<String, usize> {
    let mut order = BTreeMap::new();
    for (number, scope) in timeline.scopes.iter().enumerate() {
        if pass_of(&scope.phase) == Some(Pass::Forward) && !scope.layer.is_empty() {
            order.entry(scope.layer.clone()).or_insert(number);
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::{tiny, with_step_times};

    #[test]
    fn bytes_and_times_stand_beside_each_other() {
        let costs = costs(&with_step_times(tiny(), 5)).expect("times");
        let layers: Vec<(&str, u64, u64)> =
            costs.layers.iter().map(|cost| (cost.name.as_str(), cost.bytes(), cost.time.self_ns)).collect();
        assert_eq!(
            layers,
            [("conv1", 13_312, 1_800_000), ("layer1.0.bn1", 2_048, 400_000), (NONE, 640, 9_000)],
            "in the order of the forward pass, nobody's last"
        );
        assert_eq!(costs.operations[0].name, "convolution");
        assert_eq!(costs.operations[0].by_category, [("gradient".to_owned(), 1024), ("activation".to_owned(), 8192)]);
        for rows in [&costs.layers, &costs.operations] {
            assert_eq!(rows.iter().map(Cost::bytes).sum::<u64>(), 16_000);
        }
        assert!(super::costs(&tiny()).is_err());
    }
}
