//! `viewer check` on real runs, as CI uses it to compare a run with a baseline.
use alloc_timeline::Timeline;
use tests::{Config, Ran, folder, stored, text, viewer};

const CONFIG: (&str, u64, u64, u64) = ("resnet18", 2, 64, 3);

fn run_of(batch: u64, repetition: u64) -> &'static Timeline {
    let (model, _, side, steps) = CONFIG;
    Config { repetition, ..Config::train(model, batch, side, steps) }.run()
}

fn check(checked: &Timeline, baseline: &Timeline) -> Ran {
    let folder = folder();
    let checked = stored(checked, &folder, "checked.timeline.json");
    let baseline = stored(baseline, &folder, "baseline.timeline.json");
    viewer(&["check", text(&checked), "--baseline", text(&baseline)])
}

/// Two runs of one configuration have the same tensors at the peak, to the byte.
#[test]
fn the_same_work_passes() {
    let ran = check(run_of(2, 0), run_of(2, 1));
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("ok: "), "{}", ran.stdout);
}

/// A run with a larger batch cannot be compared: the check refuses, and says in what the runs differ.
#[test]
fn other_work_is_refused() {
    let ran = check(run_of(3, 0), run_of(2, 0));
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("batch is 3 in the checked run and 2 in the baseline"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

/// A baseline whose `fc` had 1,000 bytes of parameters less. The growth is named three times: the category, the phase
/// and the layer that made it. Nothing else grew.
#[test]
fn growth_is_named_with_its_difference() {
    let mut baseline = run_of(2, 0).clone();
    let scopes = &baseline.scopes;
    let fc = |row: &&mut alloc_timeline::Row| {
        let scope = &scopes[row.scope as usize];
        row.category == alloc_timeline::Category::Parameter && scope.layer == "fc" && row.usable_bytes > 1_000_000
    };
    let row = baseline.peak.rows.iter_mut().find(fc).expect("fc's weight, 512 x 1000 x 4 bytes");
    row.usable_bytes -= 1_000;
    baseline.peak.live_bytes -= 1_000;
    // What nobody read again is of the peak as it was.
    baseline.unread = None;

    let ran = check(run_of(2, 0), &baseline);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let grew: Vec<&str> = ran.stdout.lines().skip(1).map(str::trim).collect();
    assert_eq!(grew.len(), 3, "{}", ran.stdout);
    for (line, name) in grew.iter().zip(["category parameter: ", "phase init: ", "layer fc: "]) {
        assert!(line.starts_with(name) && line.contains("bytes, +1,000 (allowed 0)"), "{line}");
    }
    assert!(ran.stdout.starts_with("FAILED: "), "{}", ran.stdout);
}
