//! The facts of a run, and what its recording lacks.
use crate::model::{Run, date, exact, size, text_of, time};
use crate::view::words::account::no_book;
use crate::view::words::stacks::{CUT_SHORT, sampling_notes};

/// Said of what only the end of a recording tells, where there was none.
pub(in crate::view) const NO_END: &str = "not known: the recording did not reach its end";

/// Recorded facts that are left out: the time of the start is displayed as a date, and the process id helps nobody later.
const LEFT_OUT: [&str; 2] = ["pid", "started_unix_ns"];

/// The facts of a run by name, those of the program first.
pub(in crate::view) fn facts(run: &Run) -> Vec<(String, String)> {
    let timeline = &run.timeline;
    let mut facts: Vec<(String, String)> = Vec::new();
    for key in ["model", "mode", "batch", "image_size", "length"] {
        facts.extend(run.fact(key).map(|value| (key.to_owned(), value)));
    }
    let shown: Vec<String> = facts.iter().map(|fact| fact.0.clone()).collect();
    let started = timeline.run.get("started_unix_ns").and_then(serde_json::Value::as_u64);
    facts.extend(started.map(|ns| ("started".to_owned(), date(ns))));
    let others = timeline.run.iter().filter(|(key, _)| !shown.contains(key) && !LEFT_OUT.contains(&key.as_str()));
    facts.extend(others.map(|(key, value)| (key.clone(), text_of(value))));
    let allocator = &timeline.allocator;
    let settings: Vec<String> = allocator.config.iter().map(|(key, value)| format!("{key}:{value}")).collect();
    let allocator = [allocator.backend.clone(), allocator.version.clone(), settings.join(",")];
    facts.push((
        "allocator".into(),
        allocator.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "),
    ));
    let machine = &timeline.machine;
    if !machine.cpu.is_empty() {
        let memory = size(machine.memory_bytes);
        facts.push((
            "machine".into(),
            format!("{}, {} CPUs, {memory}, {} {}", machine.cpu, machine.cpus, machine.os, machine.kernel),
        ));
    }
    if !timeline.derived_phases.is_empty() {
        facts.push((
            "phases".into(),
            "those marked (derived) were not named by the program: operators told them".into(),
        ));
    }
    if timeline.steps.iter().any(|step| step.derived) {
        facts.push((
            "steps".into(),
            "derived: each ends as the first forward operator follows on an optimizer's".into(),
        ));
    }
    facts.push(("session".into(), format!("{}, {}", time(timeline.duration_ns), run.ending())));
    facts
}

/// One sentence for each thing that was lost or could not be measured.
pub(in crate::view) fn losses(run: &Run) -> Vec<String> {
    let timeline = &run.timeline;
    let tracker = &timeline.tracker;
    let mut losses = tracker.losses.clone();
    if tracker.overhead_bytes.is_none() {
        losses.push(format!("how many events, frees and scopes the tracker missed is {NO_END}"));
    }
    let mut count = |number: Option<u64>, what: &str| {
        if let Some(number) = number.filter(|&number| number > 0) {
            losses.push(format!("{} {what}", exact(number)));
        }
    };
    count(tracker.dropped_events, "events could not be put into order and were counted without it");
    count(tracker.foreign_frees, "frees of blocks that the tracker had not seen made");
    count(tracker.overflowed_scopes, "scopes beyond the table's size, counted under 'other scopes'");
    count(Some(timeline.peak.slack_bytes), "bytes by which the peak may differ from the true one");
    let untracked = timeline.interposition.iter().filter(|resolution| !resolution.tracked);
    losses.extend(untracked.map(|resolution| {
        format!(
            "{}: its {} is {}'s, so those blocks are not counted",
            resolution.object, resolution.symbol, resolution.resolved_in
        )
    }));
    if timeline.book.is_none() {
        losses.push(format!("the account of the resident set is {}", no_book(timeline)));
    }
    if let Some(stacks) = &timeline.stacks {
        let cut_short = (!stacks.complete).then(|| CUT_SHORT.trim_end().to_owned());
        losses.extend(cut_short.into_iter().chain(sampling_notes(stacks)));
    }
    let missing = timeline.lanes.iter().filter(|lane| lane.peak_bytes.is_none());
    losses.extend(missing.map(|lane| {
        let why = lane.source.trim_start_matches("unavailable: ");
        format!("{}: unavailable: {why}", lane.name)
    }));
    losses
}
