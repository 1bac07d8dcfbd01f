//! What a run used of the processors and of energy, and how long its step took by scope, for the full timeline.
use alloc_timeline::{
    CoreUsage, Energy, EnergyMeter, ProcessUsage, ScopeEnergy, ScopeTime, ScopeTimes, StepTimes, ThreadUsage,
    Utilisation,
};

/// One interval of 15 ns on a machine of which a core was switched off.
pub fn utilisation() -> Utilisation {
    let scope =
        |scope, active_ns, sampled_ns| ScopeTime { scope, active_ns, cpu_ns: None, process_cpu_ns: 7, sampled_ns };
    Utilisation {
        duration_ns: 15,
        process: Some(ProcessUsage {
            user_ns: 12,
            system_ns: 2,
            minor_faults: 3,
            major_faults: 1,
            voluntary_switches: 4,
            involuntary_switches: 5,
        }),
        cores: [(0, 900), (3, 10)].map(|(core, busy_permille)| CoreUsage { core, busy_permille }).into(),
        threads: vec![ThreadUsage { id: 4242, name: "trainer".into(), user_ns: 10, system_ns: 0 }],
        intervals: 1,
        scopes: vec![scope(0, 7, 0), ScopeTime { cpu_ns: Some(6), ..scope(1, 8, 15) }],
        unavailable: vec!["threads: unavailable: a reason".into()],
    }
}

/// A package with a part of it that could not be read.
pub fn energy() -> Energy {
    let meter = |name: &str, part_of: Option<&str>, energy_uj: Option<u64>| EnergyMeter {
        name: name.into(),
        kind: "rapl".into(),
        part_of: part_of.map(str::to_owned),
        energy_uj,
        covered_ns: if energy_uj.is_some() { 15 } else { 0 },
        most_mw: 2000,
        source: "a file".into(),
        problems: Vec::new(),
    };
    let core = meter("package-0/core", Some("package-0"), None);
    Energy {
        meters: vec![
            meter("package-0", None, Some(30)),
            EnergyMeter { most_mw: 0, problems: vec!["2 readings failed".into()], ..core },
        ],
        scopes: [(0, 14), (1, 16)].map(|(scope, uj)| ScopeEnergy { scope, by_meter_uj: vec![uj, 0] }).into(),
        unavailable: vec!["battery: unavailable: there is none".into()],
    }
}

/// A step of 12 ns: 8 of them in the convolution, which was entered twice; another thread was in it for 3 ns.
pub fn step_times() -> StepTimes {
    StepTimes {
        first_step: 1,
        last_step: 1,
        wall_ns: 12,
        stepping_thread: ScopeTimes::from_iter([(0, 4, 0), (1, 8, 2)]),
        other_threads: ScopeTimes::from_iter([(1, 3, 1)]),
    }
}
