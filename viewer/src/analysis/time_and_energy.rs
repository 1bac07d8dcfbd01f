//! What scopes cost beside their bytes: self time forward and backward, and energy where the file has it.
use std::collections::BTreeMap;

use alloc_timeline::{Dimension, NONE, Timeline};
use serde::Serialize;

use crate::analysis::self_time::{SelfTimes, TimeBasis, self_times};
use crate::analysis::usage::whole_meters;
use crate::model::ScopeNames;

/// What some scopes cost together. The field names never change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TimeAndEnergy {
    /// Self time, summed over the steps that count.
    pub self_ns: u64,
    /// The part of that in the forward pass, of training or of inference.
    pub forward_ns: u64,
    /// The part in the backward pass.
    pub backward_ns: u64,
    /// Microjoules over the whole recording, by meter: of those that are no part of another. Left out where nothing was
    /// measured.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub energy_uj: BTreeMap<String, u64>,
}

/// What the scopes of a run cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeCosts {
    times: SelfTimes,
    meters: Vec<String>,
    /// Microjoules by meter, in their order.
    energy: Vec<(ScopeNames, Vec<u64>)>,
}

/// What each layer of a run costs, as scripts read it. The field names never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerCosts {
    /// What the times are of.
    pub basis: TimeBasis,
    /// By layer; [`NONE`] is what passed in no layer. They sum to all.
    pub by_layer: BTreeMap<String, TimeAndEnergy>,
}

impl ScopeCosts {
    /// The costs of a run; `None` where no times were measured.
    pub fn new(timeline: &Timeline) -> Option<ScopeCosts> {
        let times = self_times(timeline, None).ok()?;
        let whole = timeline.energy.as_ref().map(whole_meters).unwrap_or_default();
        let meters = timeline.energy.iter().flat_map(|energy| whole.iter().map(|&meter| &energy.meters[meter]));
        let of_whole =
            |by_meter: &[u64]| whole.iter().map(|&meter| by_meter.get(meter).copied().unwrap_or(0)).collect();
        let energy = timeline.energy.iter().filter(|_| !whole.is_empty()).flat_map(|energy| &energy.scopes);
        Some(ScopeCosts {
            times,
            meters: meters.map(|meter| meter.name.clone()).collect(),
            energy: energy
                .map(|row| (ScopeNames::new(&timeline.scopes, row.scope), of_whole(&row.by_meter_uj)))
                .collect(),
        })
    }

    /// What the times are of.
    pub fn basis(&self) -> TimeBasis {
        self.times.basis
    }

    /// The meters of the energy; none where nothing was measured.
    pub fn meters(&self) -> &[String] {
        &self.meters
    }

    /// What the scopes that `is_meant` cost together.
    pub fn of(&self, is_meant: impl Fn(&ScopeNames) -> bool) -> TimeAndEnergy {
        let time = self.times.sum(&is_meant);
        let mut energy_uj: BTreeMap<String, u64> = self.meters.iter().map(|name| (name.clone(), 0)).collect();
        for (_, by_meter) in self.energy.iter().filter(|(names, _)| is_meant(names)) {
            for (name, uj) in self.meters.iter().zip(by_meter) {
                let sum = energy_uj.entry(name.clone()).or_default();
                *sum = sum.saturating_add(*uj);
            }
        }
        let (self_ns, forward_ns, backward_ns) = (time.self_ns, time.forward_ns, time.backward_ns);
        TimeAndEnergy { self_ns, forward_ns, backward_ns, energy_uj }
    }

    /// The self time of all scopes.
    pub fn whole_ns(&self) -> u64 {
        self.times.whole_ns()
    }

    /// The layers that cost anything.
    fn layers(&self) -> Vec<String> {
        let timed = self.times.by(Dimension::Layer).into_iter().map(|time| time.name);
        let mut layers: Vec<String> = timed.chain(self.energy.iter().map(|(names, _)| names.layer.clone())).collect();
        layers.sort_unstable();
        layers.dedup();
        layers
    }
}

/// What each layer costs; `None` where no times were measured.
pub fn layer_costs(timeline: &Timeline) -> Option<LayerCosts> {
    let costs = ScopeCosts::new(timeline)?;
    let of = |layer: String| (layer.clone(), costs.of(|names| names.layer == layer));
    Some(LayerCosts { basis: costs.basis(), by_layer: costs.layers().into_iter().map(of).collect() })
}

/// Whether a recorded name, which is empty where it is missing, is this one.
pub fn is_recorded_as(recorded: &str, name: &str) -> bool {
    recorded == name || recorded.is_empty() && name == NONE
}

#[cfg(test)]
mod tests {
    use alloc_timeline::{Energy, EnergyMeter, ScopeEnergy};

    use super::*;
    use crate::model::fixture::{tiny, with_step_times};

    /// Two of five steps count; in each, conv1 has 600 us forward and 300 us backward. Of the energy, 30 uJ are of scope 2, and
    /// 12 uJ of scope 4, its backward pass; the second meter is a part of the first.
    #[test]
    fn a_layer_has_its_time_forward_and_backward_and_its_energy() {
        let mut timeline = with_step_times(tiny(), 5);
        assert!(layer_costs(&timeline).expect("times").by_layer["conv1"].energy_uj.is_empty());
        let meter = |name: &str, part_of: Option<&str>| EnergyMeter {
            name: name.into(),
            part_of: part_of.map(str::to_owned),
            energy_uj: Some(42),
            ..EnergyMeter::default()
        };
        let scope = |scope, uj| ScopeEnergy { scope, by_meter_uj: vec![uj, 1] };
        timeline.energy = Some(Energy {
            meters: vec![meter("package", None), meter("core", Some("package"))],
            scopes: vec![scope(2, 30), scope(4, 12)],
            unavailable: Vec::new(),
        });
        let costs = layer_costs(&timeline).expect("times");
        let conv1 = &costs.by_layer["conv1"];
        assert_eq!((conv1.self_ns, conv1.forward_ns, conv1.backward_ns), (1_800_000, 1_200_000, 600_000));
        assert_eq!(conv1.energy_uj, [("package".to_owned(), 42)].into());
        let scopes = ScopeCosts::new(&timeline).expect("times");
        assert_eq!(costs.by_layer.values().map(|cost| cost.self_ns).sum::<u64>(), scopes.whole_ns());
        assert_eq!(scopes.of(|names| names.op == "aten::conv2d").energy_uj["package"], 30);
    }

    #[test]
    fn without_times_there_is_nothing() {
        assert!(layer_costs(&tiny()).is_none());
    }
}
