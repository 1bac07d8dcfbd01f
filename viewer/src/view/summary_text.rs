//! `viewer summary` for people: what ran, who owned the peak, what it adds up to, and what is not known.
use alloc_timeline::Dimension;

use crate::analysis::{owners, summarise};
use crate::model::{Run, date, exact, share, size, time};
use crate::view::reconcile_text;
use crate::view::stacks_text::{CUT_SHORT, notes};
use crate::view::table::{LONGEST_NAME, cell, part, table, text};
use crate::view::trend_text::growing_lines;

/// Rows of each table.
const MOST_ROWS: usize = 10;

/// Facts that are told in another way or that help nobody later.
const UNTOLD: [&str; 2] = ["pid", "started_unix_ns"];

/// The facts of a run, name and value: those of the program first.
pub fn facts(run: &Run) -> Vec<(String, String)> {
    let timeline = &run.timeline;
    let mut facts: Vec<(String, String)> = Vec::new();
    for key in ["model", "mode", "batch", "image_size"] {
        facts.extend(run.fact(key).map(|value| (key.to_owned(), value)));
    }
    let shown: Vec<String> = facts.iter().map(|fact| fact.0.clone()).collect();
    let started = timeline.run.get("started_unix_ns").and_then(serde_json::Value::as_u64);
    facts.extend(started.map(|ns| ("started".to_owned(), date(ns))));
    let others = timeline.run.iter().filter(|(key, _)| !shown.contains(key) && !UNTOLD.contains(&key.as_str()));
    facts.extend(others.map(|(key, value)| (key.clone(), crate::model::text_of(value))));
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
    facts.push(("session".into(), format!("{}, {}", time(timeline.duration_ns), run.ending())));
    facts
}

/// What was lost or could not be measured, in words; empty when all is well.
pub fn losses(run: &Run) -> Vec<String> {
    let timeline = &run.timeline;
    let tracker = &timeline.tracker;
    let mut losses = tracker.losses.clone();
    let mut count = |number: u64, what: &str| {
        if number > 0 {
            losses.push(format!("{} {what}", exact(number)));
        }
    };
    count(tracker.dropped_events, "events could not be put into order and were counted without it");
    count(tracker.foreign_frees, "frees of blocks that the tracker had not seen made");
    count(tracker.overflowed_scopes, "scopes beyond the table's size, counted under 'other scopes'");
    count(timeline.peak.slack_bytes, "bytes by which the peak may differ from the true one");
    let untracked = timeline.interposition.iter().filter(|resolution| !resolution.tracked);
    losses.extend(untracked.map(|resolution| {
        format!(
            "{}: its {} is {}'s, so those blocks are not counted",
            resolution.object, resolution.symbol, resolution.resolved_in
        )
    }));
    if timeline.book.is_none() {
        losses.push("the account of the resident set is unavailable: /proc could not be read".to_owned());
    }
    if let Some(stacks) = &timeline.stacks {
        let cut_short = (!stacks.complete).then(|| CUT_SHORT.trim_end().to_owned());
        losses.extend(cut_short.into_iter().chain(notes(stacks)));
    }
    let missing = timeline.lanes.iter().filter(|lane| lane.peak_bytes.is_none());
    losses.extend(missing.map(|lane| {
        let why = lane.source.trim_start_matches("unavailable: ");
        format!("{}: unavailable: {why}", lane.name)
    }));
    losses
}

/// The whole summary.
pub fn summary_text(run: &Run) -> String {
    let summary = summarise(run);
    let peak = &summary.peak;
    let mut out = format!("{}\n\n", run.title());
    let pair = |out: &mut String, name: &str, value: &str| out.push_str(&format!("  {name:<18} {value}\n"));
    for (name, value) in facts(run) {
        pair(&mut out, &name, &value);
    }
    out.push_str("\nPeak\n");
    let bytes = |bytes: u64| format!("{:>16} bytes  {:>12}", exact(bytes), size(bytes));
    pair(&mut out, "live", &format!("{}  at {}", bytes(peak.live_bytes), time(peak.time_ns)));
    pair(&mut out, "requested", &bytes(peak.requested_bytes));
    let unattributed =
        format!("{}  {}", bytes(peak.unattributed_bytes), share(peak.unattributed_bytes, peak.live_bytes));
    pair(&mut out, "unattributed", &unattributed);
    let known = |value: Option<u64>| value.map_or("unavailable".to_owned(), bytes);
    pair(&mut out, "RSS at the peak", &known(summary.rss.at_peak_bytes));
    pair(&mut out, "RSS, highest", &known(summary.rss.peak_bytes));
    pair(&mut out, "tracker's own", &bytes(summary.tracker.overhead_bytes));
    pair(&mut out, "alive at exit", &bytes(summary.totals.live_at_exit_bytes));
    let totals = &summary.totals;
    let blocks = format!(
        "{} allocated, {} freed, {} resized",
        exact(totals.allocations),
        exact(totals.frees),
        exact(totals.reallocations)
    );
    pair(&mut out, "blocks", &blocks);
    for dimension in Dimension::ALL {
        out.push_str(&format!("\nPeak by {dimension}\n{}", by_dimension(run, dimension)));
    }
    out.push_str(&format!("\nHigh waters: each one's own peak\n{}", high_waters(run)));
    out.push_str(&format!("\nAlive at exit\n{}", alive(run)));
    let growing = growing_lines(run);
    if !growing.is_empty() {
        out.push_str(&format!("\n{}", growing.trim_end_matches('\n')));
        out.push('\n');
    }
    out.push_str(&format!("\n{}", reconcile_text(run)));
    out.push_str("\nLost or unavailable\n");
    let losses = losses(run);
    if losses.is_empty() {
        out.push_str("  nothing\n");
    }
    for loss in losses {
        out.push_str(&format!("  {loss}\n"));
    }
    out
}

fn by_dimension(run: &Run, dimension: Dimension) -> String {
    let parts = run.peak_by(dimension);
    let live = run.timeline.peak.live_bytes;
    let mut table = table(&[dimension.name(), ">bytes", ">", ">share"]);
    for (name, bytes) in parts.iter().take(MOST_ROWS) {
        table.add_row([cell(name), exact(*bytes), size(*bytes), share(*bytes, live)]);
    }
    if parts.len() > MOST_ROWS {
        let bytes = parts[MOST_ROWS..].iter().map(|part| part.1).sum();
        table.add_row([format!("rest ({})", parts.len() - MOST_ROWS), exact(bytes), size(bytes), share(bytes, live)]);
    }
    text(&table)
}

fn high_waters(run: &Run) -> String {
    let mut high_waters: Vec<_> = run.timeline.high_waters.iter().collect();
    if high_waters.is_empty() {
        return "  none recorded\n".to_owned();
    }
    high_waters.sort_by_key(|high| std::cmp::Reverse(high.live_bytes));
    let mut table = table(&["", "name", ">bytes", ">", ">at", ">process then"]);
    for dimension in [Dimension::Phase, Dimension::Layer, Dimension::Op] {
        for high in high_waters.iter().filter(|high| high.dimension == dimension).take(MOST_ROWS / 2) {
            let process = size(high.process_live_bytes);
            let row = [exact(high.live_bytes), size(high.live_bytes), time(high.time_ns), process];
            table.add_row([dimension.name().to_owned(), cell(&high.name)].into_iter().chain(row));
        }
    }
    text(&table)
}

fn alive(run: &Run) -> String {
    let snapshot = &run.timeline.at_exit.snapshot;
    let owners = owners(snapshot, run.scopes());
    if owners.is_empty() {
        return "  nothing\n".to_owned();
    }
    let mut table = table(&["layer", "phase", "op", "category", ">blocks", ">bytes", ">"]);
    for owner in owners.iter().take(MOST_ROWS) {
        table.add_row([
            part(&owner.layer, LONGEST_NAME),
            part(&owner.phase, LONGEST_NAME),
            part(&owner.op, LONGEST_NAME),
            owner.category.to_string(),
            exact(owner.blocks),
            exact(owner.bytes),
            size(owner.bytes),
        ]);
    }
    text(&table)
}
