//! `viewer power` for a made-up run, for one that was not asked for times, and for a file of an older recorder.
use crate::common::{Folder, nets, viewer};
use alloc_timeline::{
    CoreUsage, Energy, EnergyMeter, ProcessUsage, ScopeEnergy, ScopeTime, ThreadUsage, Timeline, Utilisation,
};
use serde_json::Value;

const MS: u64 = 1_000_000;

/// Each scope of the stem is active for as many milliseconds as its number, and in no scope for 4; the sampler sees the
/// even ones for 10 ms each.
fn run() -> Timeline {
    let mut timeline = nets::stem();
    let scopes = timeline.scopes.len() as u32;
    let time = |scope: u32| ScopeTime {
        scope,
        active_ns: if scope == 0 { 4 * MS } else { u64::from(scope) * MS },
        cpu_ns: (scope > 0).then(|| u64::from(scope) * MS / 2),
        process_cpu_ns: u64::from(scope) * MS,
        sampled_ns: if scope.is_multiple_of(2) { 10 * MS } else { 0 },
    };
    let energy_uj = (0..u64::from(scopes)).sum::<u64>() * 1_500;
    timeline.utilisation = Some(Utilisation {
        duration_ns: 2_000 * MS,
        process: Some(ProcessUsage {
            user_ns: 1_900 * MS,
            system_ns: 300 * MS,
            minor_faults: 12_345,
            major_faults: 6,
            voluntary_switches: 789,
            involuntary_switches: 10,
        }),
        cores: [(0, 900), (3, 400)].map(|(core, busy_permille)| CoreUsage { core, busy_permille }).into(),
        threads: [(7, "trainer", 1_700), (8, "alloc-recorder", 20), (9, "idle", 0)]
            .map(|(id, name, ms)| ThreadUsage { id, name: name.into(), user_ns: ms * MS, system_ns: 0 })
            .into(),
        intervals: 200,
        scopes: (0..scopes).map(time).collect(),
        unavailable: Vec::new(),
    });
    let meter = |name: &str, kind: &str, part_of: Option<&str>, energy_uj: Option<u64>| EnergyMeter {
        name: name.into(),
        kind: kind.into(),
        part_of: part_of.map(str::to_owned),
        energy_uj,
        covered_ns: if energy_uj.is_some() { 2_000 * MS } else { 0 },
        most_mw: if energy_uj.is_some() { 15_500 } else { 0 },
        source: "made up".into(),
        problems: if energy_uj.is_some() { Vec::new() } else { vec!["200 readings failed".into()] },
    };
    let by_scope = |scope: u32| ScopeEnergy { scope, by_meter_uj: vec![u64::from(scope) * 1_500, 0] };
    timeline.energy = Some(Energy {
        meters: vec![
            meter("package-0", "rapl", None, Some(energy_uj)),
            meter("package-0/core", "rapl", Some("package-0"), None),
        ],
        scopes: (0..scopes).map(by_scope).collect(),
        unavailable: vec!["battery: unavailable: there is none".into()],
    });
    timeline
}

fn text(timeline: &Timeline) -> String {
    let folder = Folder::new();
    let answer = viewer(&["power", &folder.store("stem.timeline.json", timeline), "--top", "4"]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    answer.out
}

#[test]
fn everything_measured() {
    insta::assert_snapshot!(text(&run()));
}

#[test]
fn what_was_not_measured_is_unavailable_and_never_nothing() {
    let mut timeline = run();
    let utilisation = timeline.utilisation.as_mut().expect("set");
    (utilisation.intervals, utilisation.scopes) = (0, Vec::new());
    utilisation.unavailable = vec!["cores: unavailable: /proc/stat: closed".into()];
    utilisation.cores.clear();
    timeline.energy = None;
    let said = text(&timeline);
    assert_eq!(said.matches("run it with ALLOC_TRACKER_TIMES=on").count(), 2, "{said}");
    assert!(said.contains("cores: unavailable: /proc/stat: closed") && said.contains("1.10 of "), "{said}");

    // Times without a sensor: the tables stand, and no cell of energy is a number.
    let mut timeline = run();
    let unavailable = vec!["rapl: unavailable: a virtual machine".to_owned()];
    timeline.energy = Some(Energy { unavailable, ..Energy::default() });
    let said = text(&timeline);
    assert!(said.contains("rapl: unavailable: a virtual machine") && !said.contains(" J"), "{said}");
    assert!(said.lines().any(|line| line.ends_with("unavailable") && line.contains('%')), "{said}");

    timeline.utilisation = None;
    assert!(text(&timeline).contains("unavailable: the recorder of this file did not measure it"));
}

#[test]
fn json_has_the_sums_and_the_error_of_sampling() {
    let folder = Folder::new();
    let timeline = run();
    let answer = viewer(&["power", &folder.store("stem.timeline.json", &timeline), "--json"]);
    let json: Value = serde_json::from_str(&answer.out).expect("JSON");
    let sum = |rows: &Value, field: &str| -> u64 {
        rows.as_array().expect("rows").iter().map(|row| row[field].as_u64().expect("a number")).sum()
    };
    let scopes = &timeline.utilisation.as_ref().expect("set").scopes;
    let active: u64 = scopes.iter().map(|row| row.active_ns).sum();
    for by in ["by_phase", "by_layer", "by_op"] {
        assert_eq!(sum(&json[by], "active_ns"), active, "{by}");
    }
    assert_eq!(json["sampling"].as_array().map(Vec::len), Some(3));
    assert_eq!(json["energy"]["meters"][1]["energy_uj"], Value::Null);
    assert_eq!(json["utilisation"]["process"]["minor_faults"], 12_345);
    assert_eq!(json["lanes"], Value::Null, "the samples of this run have no column about processors");
}
