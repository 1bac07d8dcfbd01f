//! Time, processor time and energy by phase, layer and operator, and how wrong sampling would have been.
use std::collections::BTreeMap;

use alloc_timeline::{Category, Dimension, Ending, Energy, EnergyMeter, ProcessUsage, Timeline, Utilisation};
use serde::Serialize;

use crate::model::scope_of;

/// What one phase, layer or operator used.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// The name; [`NONE`](alloc_timeline::NONE) where there was none.
    pub name: String,
    /// How long it was active, summed over threads.
    pub active_ns: u64,
    /// Processor time of the threads that were in it. Absent when it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// Its part of the processor time of the whole process.
    pub process_cpu_ns: u64,
    /// What a sampling profiler would have said instead of `active_ns`.
    pub sampled_ns: u64,
    /// Microjoules by each of the energy's meters.
    pub by_meter_uj: Vec<u64>,
}

/// What a run used, for the summary. The field names never change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Power {
    /// The process as a whole; null where the kernel does not tell.
    pub process: Option<ProcessUsage>,
    /// What each sensor measured. Empty where there is none.
    pub meters: Vec<EnergyMeter>,
    /// What each phase used, the longest active first. Empty where the run was not asked for times.
    pub by_phase: Vec<Usage>,
    /// What each layer used, likewise.
    pub by_layer: Vec<Usage>,
    /// A sentence for each figure that there is not.
    pub unavailable: Vec<String>,
}

/// How far a profiler that samples would have been off, in the times of one dimension.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SamplingError {
    /// Which names.
    pub dimension: Dimension,
    /// The part of the time that sampling gives to the wrong name, from 0 to 1.
    pub misplaced: f64,
    /// How many names were active, and how many of those no sample hit.
    pub names: usize,
    /// See `names`.
    pub never_hit: usize,
    /// Of the names with at least a hundredth of the time: half of them are off by more than this, as a part of their own
    /// time.
    pub median: f64,
    /// The one that is off by most, likewise.
    pub worst: f64,
    /// Its name.
    pub worst_name: String,
}

/// What each name of one dimension used, the longest active first. Empty when no times were measured.
pub fn usage_by(timeline: &Timeline, dimension: Dimension) -> Vec<Usage> {
    let name = |scope: u32| dimension.of(scope_of(&timeline.scopes, scope), Category::Other).to_owned();
    let mut by_name: BTreeMap<String, Usage> = BTreeMap::new();
    let meters = timeline.energy.as_ref().map_or(0, |energy| energy.meters.len());
    let entry = |by_name: &mut BTreeMap<String, Usage>, scope: u32, add: &dyn Fn(&mut Usage)| {
        let name = name(scope);
        let usage = by_name.entry(name.clone()).or_insert_with(|| Usage {
            name,
            by_meter_uj: vec![0; meters],
            ..Usage::default()
        });
        add(usage);
    };
    for row in timeline.utilisation.iter().flat_map(|utilisation| &utilisation.scopes) {
        entry(&mut by_name, row.scope, &|usage| {
            usage.active_ns = usage.active_ns.saturating_add(row.active_ns);
            usage.cpu_ns = row.cpu_ns.map(|ns| ns.saturating_add(usage.cpu_ns.unwrap_or(0))).or(usage.cpu_ns);
            usage.process_cpu_ns = usage.process_cpu_ns.saturating_add(row.process_cpu_ns);
            usage.sampled_ns = usage.sampled_ns.saturating_add(row.sampled_ns);
        });
    }
    for row in timeline.energy.iter().flat_map(|energy| &energy.scopes) {
        entry(&mut by_name, row.scope, &|usage| {
            for (sum, uj) in usage.by_meter_uj.iter_mut().zip(&row.by_meter_uj) {
                *sum = sum.saturating_add(*uj);
            }
        });
    }
    let mut usages: Vec<Usage> = by_name.into_values().collect();
    usages.sort_by(|a, b| b.active_ns.cmp(&a.active_ns).then_with(|| a.name.cmp(&b.name)));
    usages
}

/// What a run used of the processors and of energy.
pub fn power(timeline: &Timeline) -> Power {
    let of_processors = timeline.utilisation.iter().flat_map(|utilisation| &utilisation.unavailable);
    let of_energy = timeline.energy.iter().flat_map(|energy| &energy.unavailable);
    Power {
        process: timeline.utilisation.as_ref().and_then(|utilisation| utilisation.process),
        meters: timeline.energy.as_ref().map(|energy| energy.meters.clone()).unwrap_or_default(),
        by_phase: usage_by(timeline, Dimension::Phase),
        by_layer: usage_by(timeline, Dimension::Layer),
        unavailable: no_power(timeline)
            .map(|why| format!("time and energy by scope: {why}"))
            .into_iter()
            .chain(of_processors.chain(of_energy).cloned())
            .collect(),
    }
}

/// Why there are no times and no energy by scope, and how to get them; `None` where there are.
pub fn no_power(timeline: &Timeline) -> Option<&'static str> {
    match &timeline.utilisation {
        None if timeline.ending == Ending::Recovered => {
            Some("not known: the process died before times were written down")
        }
        None => Some("unavailable: the recorder of this file did not measure it"),
        Some(utilisation) if utilisation.scopes.is_empty() => {
            Some("unavailable: no times were asked for; run it with ALLOC_TRACKER_TIMES=on")
        }
        Some(_) => None,
    }
}

/// How far sampling would have been off. `None` when no times were measured.
pub fn sampling_error(timeline: &Timeline, dimension: Dimension) -> Option<SamplingError> {
    let usages = usage_by(timeline, dimension);
    let whole = |column: fn(&Usage) -> u64| usages.iter().map(column).map(|ns| ns as f64).sum::<f64>();
    let (active, sampled) = (whole(|usage| usage.active_ns), whole(|usage| usage.sampled_ns));
    if active == 0.0 || sampled == 0.0 {
        return None;
    }
    // As parts of their sums, because the two need not cover the same time to the last interval.
    let off = |usage: &Usage| (usage.active_ns as f64 / active - usage.sampled_ns as f64 / sampled).abs();
    let relative = |usage: &&Usage| off(usage) / (usage.active_ns as f64 / active);
    let mut large: Vec<&Usage> = usages.iter().filter(|usage| usage.active_ns as f64 >= active / 100.0).collect();
    large.sort_by(|a, b| relative(a).total_cmp(&relative(b)));
    let worst = large.last()?;
    Some(SamplingError {
        dimension,
        misplaced: usages.iter().map(off).sum::<f64>() / 2.0,
        names: usages.iter().filter(|usage| usage.active_ns > 0).count(),
        never_hit: usages.iter().filter(|usage| usage.active_ns > 0 && usage.sampled_ns == 0).count(),
        median: relative(&large[large.len() / 2]),
        worst: relative(worst),
        worst_name: worst.name.clone(),
    })
}

/// The mean length of an interval that was split, in nanoseconds. `None` when no times were measured.
pub fn interval_ns(utilisation: &Utilisation) -> Option<u64> {
    utilisation.duration_ns.checked_div(utilisation.intervals)
}

/// The meters that are no part of another: their sum counts nothing twice. Each with its index.
pub fn whole_meters(energy: &Energy) -> Vec<usize> {
    let is_whole = |index: &usize| energy.meters[*index].part_of.is_none() && energy.meters[*index].energy_uj.is_some();
    (0..energy.meters.len()).filter(is_whole).collect()
}

#[cfg(test)]
mod tests {
    use alloc_timeline::{Assembler, EnergyMeter, Record, Scope, ScopeEnergy, ScopeTime};

    use super::*;

    /// Ten intervals of 10 ms. Scope 1 (conv1 in forward) was active for 60 ms, 2 (conv1 in backward) for 20 ms, 3 (bn1 in
    /// forward) for 10 ms; sampling saw 80, 20 and none.
    fn run() -> Timeline {
        const MS: u64 = 1_000_000;
        let mut assembler = Assembler::new();
        for (phase, layer) in [("", ""), ("forward", "conv1"), ("backward", "conv1"), ("forward", "bn1")] {
            assembler.apply(Record::Scope(Scope { phase: phase.into(), layer: layer.into(), op: String::new() }));
        }
        let time = |scope, active, sampled| ScopeTime {
            scope,
            active_ns: active * MS,
            cpu_ns: (scope > 0).then_some(active * MS / 2),
            process_cpu_ns: active * MS,
            sampled_ns: sampled * MS,
        };
        assembler.apply(Record::Utilisation(Box::new(Utilisation {
            duration_ns: 100 * MS,
            intervals: 10,
            scopes: vec![time(0, 10, 0), time(1, 60, 80), time(2, 20, 20), time(3, 10, 0)],
            ..Utilisation::default()
        })));
        let meter = |name: &str, part_of: Option<&str>| EnergyMeter {
            name: name.into(),
            part_of: part_of.map(str::to_owned),
            energy_uj: Some(100),
            ..EnergyMeter::default()
        };
        assembler.apply(Record::Energy(Box::new(Energy {
            meters: vec![meter("core", Some("package")), meter("package", None)],
            scopes: (0..4).map(|scope| ScopeEnergy { scope, by_meter_uj: vec![25, 25] }).collect(),
            unavailable: Vec::new(),
        })));
        assembler.timeline()
    }

    #[test]
    fn names_are_summed() {
        let layers = usage_by(&run(), Dimension::Layer);
        let conv1 = &layers[0];
        assert_eq!((conv1.name.as_str(), conv1.active_ns, conv1.cpu_ns), ("conv1", 80_000_000, Some(40_000_000)));
        assert_eq!(conv1.by_meter_uj, [50, 50]);
        assert_eq!(layers.iter().map(|usage| usage.active_ns).sum::<u64>(), 100_000_000);
        assert_eq!(interval_ns(run().utilisation.as_ref().expect("set")), Some(10_000_000));
        assert_eq!(whole_meters(run().energy.as_ref().expect("set")), [1]);
    }

    #[test]
    fn sampling_misses_what_is_short() {
        let error = sampling_error(&run(), Dimension::Layer).expect("times");
        // conv1 has 80 % and is said to have all; 10 % of bn1 and 10 % of nothing are not seen.
        assert!((error.misplaced - 0.2).abs() < 1e-12, "{error:?}");
        assert_eq!((error.names, error.never_hit, error.worst), (3, 2, 1.0));
        assert!(sampling_error(&Assembler::new().timeline(), Dimension::Layer).is_none());
    }
}
