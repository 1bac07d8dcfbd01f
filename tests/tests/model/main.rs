//! The whole tracker, from the doors to the file, compared with a model: a victim carries out random traces of several
//! threads (`trace.rs`), one order at a time (`victims/model.rs`), and a reference adds them up (`reference.rs`).
//!
//! In exact mode every number equals the reference's. Otherwise the sums at the end do, by scope, to the byte and the
//! block, and peaks differ by at most `slack_bytes`.
//!
//! A failing trace is shrunk and printed as the victim reads it: `victim-model out.timeline.json TRACE` runs it again.
mod reference;
mod trace;

use std::collections::BTreeMap;
use std::process::Command;

use alloc_timeline::{Fate, Snapshot, Sums, Timeline};
use proptest::prelude::*;
use reference::{Counts, Held, Place, Reference, Way};
use tests::{folder, rows, run, tables};
use trace::{Proposal, Trace, proposals};

/// How many traces for each mode.
const TRACES: u32 = 150;

/// Runs a trace; the timeline, and the usable bytes of the block of each order.
fn record(trace: &Trace, mode: Option<&str>) -> Result<(Timeline, Vec<u64>), TestCaseError> {
    let folder = folder();
    let (out, orders) = (folder.path().join("model.timeline.json"), folder.path().join("trace"));
    std::fs::write(&orders, trace.text()).expect("room for the trace");
    let mut command = Command::new(env!("CARGO_BIN_EXE_victim-model"));
    command.args([&out, &orders]).env_remove("ALLOC_TRACKER").envs(mode.map(|mode| ("ALLOC_TRACKER", mode)));
    let ran = run(&mut command);
    prop_assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let usable = ran.stdout.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let timeline = alloc_timeline::load(&out).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!((timeline.tracker.dropped_events, timeline.tracker.foreign_frees), (Some(0), Some(0)));
    Ok((timeline, usable))
}

fn is_own((phase, layer): &Place) -> bool {
    phase.starts_with('m') || layer.starts_with('l')
}

/// What the trace's scopes own in `table`.
fn held(timeline: &Timeline, table: &Snapshot) -> Held {
    let mut held = Held::new();
    for (scope, row) in rows(timeline, table) {
        let sums = held.entry((scope.phase.clone(), scope.layer.clone())).or_default();
        for (sum, amount) in sums.iter_mut().zip([row.usable_bytes, row.requested_bytes, row.blocks]) {
            *sum += amount as i64;
        }
    }
    held.retain(|place, _| is_own(place));
    held
}

fn counts(timeline: &Timeline) -> BTreeMap<Place, Counts> {
    let all = timeline.totals.by_scope.iter().map(|totals| {
        let scope = &timeline.scopes[totals.scope as usize];
        let (allocations, frees, allocated_bytes) = (totals.allocations, totals.frees, totals.allocated_bytes);
        ((scope.phase.clone(), scope.layer.clone()), Counts { allocations, frees, allocated_bytes })
    });
    all.filter(|(place, _)| is_own(place)).collect()
}

/// The ownership matrix of the trace's blocks.
fn flows(timeline: &Timeline) -> BTreeMap<Way, Sums> {
    let mut flows: BTreeMap<Way, Sums> = BTreeMap::new();
    for flow in &timeline.analysis.as_ref().expect("an analysis").flows {
        let place = |place: &alloc_timeline::Place| (place.phase.clone(), place.layer.clone());
        let from = place(flow.from.as_ref().expect("few enough pairs for a table"));
        if is_own(&from) {
            *flows.entry((from, flow.fate, flow.to.as_ref().map(place))).or_default() += flow.sums();
        }
    }
    flows
}

/// Checks the sums at the end, which are exact in every mode.
fn ends_right(timeline: &Timeline, reference: &Reference) -> Result<(), TestCaseError> {
    prop_assert_eq!(
        held(timeline, &timeline.at_exit.as_ref().expect("an end").snapshot),
        reference.held.clone(),
        "live at the end"
    );
    prop_assert_eq!(counts(timeline), reference.counts.clone(), "allocated and freed");
    prop_assert_eq!(timeline.steps.len(), reference.steps.len());
    Ok(())
}

/// The snapshot before the trace began. The process keeps these blocks beside those of the trace.
fn base(timeline: &Timeline) -> &Snapshot {
    tables(timeline, "began")[0]
}

fn exactly(trace: &Trace) -> Result<(), TestCaseError> {
    let (timeline, usable) = record(trace, Some("exact"))?;
    let reference = Reference::of(trace, &usable);
    ends_right(&timeline, &reference)?;
    prop_assert_eq!(timeline.peak.slack_bytes, 0);
    let base = base(&timeline);
    let [live, requested, blocks] = held_in_all(base);
    prop_assert_eq!(timeline.peak.live_bytes as i64, live + reference.peak.0, "the peak");
    prop_assert_eq!(held(&timeline, &timeline.peak), reference.peak.1.clone(), "who held the peak");
    let peak = timeline.peak_requested.expect("a peak of the requested bytes");
    let expected = [requested + reference.peak_requested[0], blocks + reference.peak_requested[1]];
    prop_assert_eq!([peak.bytes as i64, peak.blocks as i64], expected, "the peak of the requested bytes");
    let steps = timeline.steps.iter().map(|step| (step.index, step.live_bytes as i64, step.end_live_bytes as i64));
    let expected = reference.steps.iter().map(|(number, peak, end)| (*number, live + peak, live + end));
    prop_assert_eq!(steps.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "the steps");
    prop_assert_eq!(flows(&timeline), reference.flows.clone(), "the ownership matrix");
    for (phase, expected) in reference.phases.iter().filter(|(phase, figures)| !phase.is_empty() && figures.peak > 0) {
        let all = &timeline.analysis.as_ref().expect("an analysis").figures;
        let is = |one: &&alloc_timeline::Figures| one.phase.as_ref() == Some(phase) && one.layer.is_none();
        let found = all.iter().find(is).ok_or_else(|| TestCaseError::fail(format!("no figures of {phase}")))?;
        prop_assert_eq!(found.peak_bytes as i64, expected.peak, "the peak of {}", phase);
        prop_assert_eq!(found.largest_block_bytes, expected.largest, "the largest block of {}", phase);
        if let Some(retained) = expected.retained {
            prop_assert_eq!(found.retained_bytes as i64, retained, "retained by {}", phase);
        }
    }
    Ok(())
}

fn held_in_all(table: &Snapshot) -> [i64; 3] {
    let blocks = table.rows.iter().map(|row| row.blocks).sum();
    [table.live_bytes, table.requested_bytes, blocks].map(|amount: u64| amount as i64)
}

fn within_slack(trace: &Trace) -> Result<(), TestCaseError> {
    let (timeline, usable) = record(trace, None)?;
    let reference = Reference::of(trace, &usable);
    ends_right(&timeline, &reference)?;
    let slack = timeline.peak.slack_bytes;
    // The threads of the trace, the one that starts them, and four of the tracker's.
    prop_assert!(slack <= (trace.threads as u64 + 5) * 64 * 1024);
    let [live, requested, _] = held_in_all(base(&timeline));
    let near = |what: &str, found: u64, expected: i64| {
        let off = (found as i64 - expected).unsigned_abs();
        prop_assert!(off <= slack, "{}: {} instead of {}, {} off", what, found, expected, off);
        Ok(())
    };
    near("the peak", timeline.peak.live_bytes, live + reference.peak.0)?;
    let peak = timeline.peak_requested.expect("a peak of the requested bytes");
    near("the peak of the requested bytes", peak.bytes, requested + reference.peak_requested[0])?;
    for (step, (number, peak, end)) in timeline.steps.iter().zip(&reference.steps) {
        prop_assert_eq!(step.index, *number);
        near("a step's peak", step.live_bytes, live + peak)?;
        near("a step's end", step.end_live_bytes, live + end)?;
    }
    for (phase, expected) in reference.phases.iter().filter(|(phase, _)| !phase.is_empty()) {
        let is =
            |one: &&alloc_timeline::HighWater| one.dimension == alloc_timeline::Dimension::Phase && one.name == *phase;
        let found = timeline.high_waters.iter().find(is).map_or(0, |water| water.live_bytes);
        near(&format!("the peak of {phase}"), found, expected.peak)?;
    }
    // The recorder follows all large blocks, and some of the others.
    let found = flows(&timeline);
    for (way, sums) in &found {
        let mut most = reference.flows.get(way).copied().unwrap_or_default();
        // The recorder follows a block from the moment when it has become large, maybe in a later step than it was made
        // in.
        if let (from, Fate::Temporary, to) = way {
            let freed = reference.flows.get(&(from.clone(), Fate::Freed, to.clone()));
            most += freed.copied().unwrap_or_default();
        }
        prop_assert!(
            sums.usable_bytes <= most.usable_bytes && sums.blocks <= most.blocks,
            "{way:?}: {sums:?} {most:?}"
        );
    }
    for (way, least) in &reference.large_flows {
        let sums = found.get(way).copied().unwrap_or_default();
        prop_assert!(
            sums.usable_bytes >= least.usable_bytes && sums.blocks >= least.blocks,
            "{way:?}: {sums:?} {least:?}"
        );
    }
    Ok(())
}

/// Adds the trace to the error's message, unless it is too long to be of use.
fn with_trace(trace: &Trace, result: Result<(), TestCaseError>) -> Result<(), TestCaseError> {
    let text = trace.text();
    result.map_err(|error| match error {
        TestCaseError::Fail(reason) if text.lines().count() < 200 => TestCaseError::fail(format!("{reason}\n{text}")),
        other => other,
    })
}

/// A thread that frees as much as it allocates, in other scopes or in other sizes, leaves no more unpublished than the
/// slack.
#[test]
fn an_exchange_is_seen() {
    let phases = [(0, Proposal::Phase(1)), (1, Proposal::Phase(2))];
    let fill = |pile, count, size| (0, Proposal::Fill { pile, count, size });
    let exchange = |from, to, count, size| (1, Proposal::Exchange { from, to, count, size });
    let large = Proposal::Make { place: 0, way: 7, size: 1_500_000, alignment: 0 };
    let traces: [&[_]; 3] = [
        // From m1 to m2 and back: the peak of m2.
        &[fill(0, 5_000, 200), exchange(0, 1, 5_000, 200), (1, Proposal::Phase(1)), exchange(1, 0, 5_000, 200)],
        // One thread frees blocks that the other has not published yet. Then there is a peak, in which m1 and m2 own
        // nothing.
        &[fill(0, 5_000, 200), exchange(0, 1, 5_000, 200), (0, Proposal::Empty { pile: 1, count: 5_000 }), (0, large)],
        // Blocks of 32 bytes, of which 17 are asked for, then 32, then 17 again: the peak of the requested bytes.
        &[fill(0, 20_000, 17), exchange(0, 1, 20_000, 32), exchange(1, 0, 20_000, 17)],
    ];
    let failed = traces.iter().enumerate().filter_map(|(number, proposals)| {
        let trace = Trace::plan(2, true, &[&phases, *proposals].concat());
        Some(format!("trace {number}: {}", within_slack(&trace).err()?))
    });
    assert_eq!(failed.collect::<Vec<_>>(), Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: TRACES, failure_persistence: None, max_shrink_time: 120_000, ..ProptestConfig::default()
    })]

    #[test]
    fn exact_mode_says_what_the_reference_says((threads, alive, proposals) in proposals()) {
        let trace = Trace::plan(threads, alive, &proposals);
        with_trace(&trace, exactly(&trace))?;
    }

    #[test]
    fn batches_are_right_at_the_end_and_within_the_slack_before((threads, alive, proposals) in proposals()) {
        let trace = Trace::plan(threads, alive, &proposals);
        with_trace(&trace, within_slack(&trace))?;
    }
}
