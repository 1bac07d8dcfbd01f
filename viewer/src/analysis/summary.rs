//! The figures of a run that scripts lean on: what `viewer summary --json` prints. The field names are a contract.
use std::collections::BTreeMap;

use alloc_timeline::{Dimension, Ending, HighWater, Lane, PeakRequested, Step};
use serde::Serialize;
use serde_json::Value;

use crate::analysis::{Owner, owners};
use crate::model::Run;

/// How many of the owners alive at exit are listed.
const ALIVE_LISTED: usize = 20;

/// Everything in one object.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Version of the file that was read.
    pub format_version: u32,
    /// How the recording ended.
    pub ending: Ending,
    /// Length of the session.
    pub duration_ns: u64,
    /// The instant with the most live bytes.
    pub peak: Peak,
    /// The instant with the most requested bytes; absent in files of before it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_requested: Option<PeakRequested>,
    /// Counts over the whole run.
    pub totals: TotalCounts,
    /// The resident set.
    pub rss: Rss,
    /// The account of the resident set; empty when it could not be read. It sums to the resident set.
    pub reconcile: Vec<ReconcileLine>,
    /// All figures from outside the tracker, those that are missing among them.
    pub lanes: Vec<Lane>,
    /// What the tracker cost and missed.
    pub tracker: TrackerFigures,
    /// The own peaks of phases, layers and operators, biggest first.
    pub high_waters: Vec<HighWater>,
    /// The steps with their own peaks.
    pub steps: Vec<Step>,
    /// What was live when the session ended.
    pub alive_at_exit: AliveAtExit,
    /// What the program said of itself, and the allocator's name.
    pub run: BTreeMap<String, Value>,
}

/// The instant with the most live bytes. Every `by_*` sums to `live_bytes`.
#[derive(Clone, Debug, Serialize)]
pub struct Peak {
    /// Usable bytes not yet freed.
    pub live_bytes: u64,
    /// The same in requested bytes.
    pub requested_bytes: u64,
    /// When, since the session began.
    pub time_ns: u64,
    /// The true value may differ by at most this much.
    pub slack_bytes: u64,
    /// Bytes that no phase, layer or operator owned, start-up left out.
    pub unattributed_bytes: u64,
    /// By phase.
    pub by_phase: BTreeMap<String, u64>,
    /// By layer.
    pub by_layer: BTreeMap<String, u64>,
    /// By operator.
    pub by_op: BTreeMap<String, u64>,
    /// By category.
    pub by_category: BTreeMap<String, u64>,
}

/// Counts over the whole run.
#[derive(Clone, Debug, Serialize)]
pub struct TotalCounts {
    /// Blocks allocated.
    pub allocations: u64,
    /// Blocks freed.
    pub frees: u64,
    /// Blocks resized; neither allocations nor frees.
    pub reallocations: u64,
    /// Usable bytes of all blocks ever allocated.
    pub allocated_bytes: u64,
    /// Usable bytes that were live when the session ended.
    pub live_at_exit_bytes: u64,
}

/// The resident set.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rss {
    /// The most that was ever seen.
    pub peak_bytes: Option<u64>,
    /// What was seen nearest to the peak of the live bytes.
    pub at_peak_bytes: Option<u64>,
}

/// One line of the account.
#[derive(Clone, Debug, Serialize)]
pub struct ReconcileLine {
    /// What it is.
    pub name: String,
    /// How much; negative where it takes away.
    pub bytes: i64,
}

/// What the tracker cost and missed.
#[derive(Clone, Debug, Serialize)]
pub struct TrackerFigures {
    /// Resident bytes of everything the tracker keeps.
    pub overhead_bytes: u64,
    /// Their parts.
    pub overhead: BTreeMap<String, u64>,
    /// Events counted without their order.
    pub dropped_events: u64,
    /// Frees of blocks that the tracker had not seen made.
    pub foreign_frees: u64,
    /// Scopes that did not fit the table.
    pub overflowed_scopes: u64,
    /// What went wrong in recording.
    pub losses: Vec<String>,
}

/// What was live when the session ended.
#[derive(Clone, Debug, Serialize)]
pub struct AliveAtExit {
    /// By category; sums to `totals.live_at_exit_bytes`.
    pub by_category: BTreeMap<String, u64>,
    /// The biggest owners.
    pub owners: Vec<Owner>,
}

/// The summary of a run.
pub fn summarise(run: &Run) -> Summary {
    let timeline = &run.timeline;
    let scopes = run.scopes();
    let peak = &timeline.peak;
    let at_exit = &timeline.at_exit.snapshot;
    let by = |dimension| peak.by(scopes, dimension);
    let mut facts = timeline.run.clone();
    facts.entry("allocator".to_owned()).or_insert_with(|| Value::String(timeline.allocator.backend.clone()));
    let mut high_waters = timeline.high_waters.clone();
    high_waters.sort_by(|a, b| (a.dimension, b.live_bytes, &a.name).cmp(&(b.dimension, a.live_bytes, &b.name)));
    let rss = run.lane("rss");
    Summary {
        format_version: timeline.format_version,
        ending: timeline.ending,
        duration_ns: timeline.duration_ns,
        peak: Peak {
            live_bytes: peak.live_bytes,
            requested_bytes: peak.requested_bytes,
            time_ns: peak.time_ns,
            slack_bytes: peak.slack_bytes,
            unattributed_bytes: peak.unattributed_bytes(scopes),
            by_phase: by(Dimension::Phase),
            by_layer: by(Dimension::Layer),
            by_op: by(Dimension::Op),
            by_category: by(Dimension::Category),
        },
        peak_requested: timeline.peak_requested,
        totals: TotalCounts {
            allocations: timeline.totals.allocations,
            frees: timeline.totals.frees,
            reallocations: timeline.totals.reallocations,
            allocated_bytes: timeline.totals.allocated_bytes,
            live_at_exit_bytes: at_exit.live_bytes,
        },
        rss: Rss {
            peak_bytes: rss.and_then(|lane| lane.peak_bytes),
            at_peak_bytes: rss.and_then(|lane| lane.at_peak_bytes),
        },
        reconcile: timeline
            .book
            .iter()
            .flat_map(|book| &book.lines)
            .map(|line| ReconcileLine { name: line.name.clone(), bytes: line.bytes })
            .collect(),
        lanes: timeline.lanes.clone(),
        tracker: TrackerFigures {
            overhead_bytes: timeline.tracker.overhead_bytes,
            overhead: timeline.tracker.overhead.clone(),
            dropped_events: timeline.tracker.dropped_events,
            foreign_frees: timeline.tracker.foreign_frees,
            overflowed_scopes: timeline.tracker.overflowed_scopes,
            losses: timeline.tracker.losses.clone(),
        },
        high_waters,
        steps: timeline.steps.clone(),
        alive_at_exit: AliveAtExit {
            by_category: at_exit.by(scopes, Dimension::Category),
            owners: owners(at_exit, scopes).into_iter().take(ALIVE_LISTED).collect(),
        },
        run: facts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn the_figures_are_the_fixtures() {
        let summary = summarise(&Run::new("x".into(), tiny()));
        assert_eq!(summary.peak.live_bytes, 16_000);
        assert_eq!(summary.peak.requested_bytes, 15_000);
        // Only the `other` row: the runtime's 512 bytes are nobody's, but known.
        assert_eq!(summary.peak.unattributed_bytes, 128);
        assert_eq!(summary.peak.by_category["activation"], 10_240);
        assert_eq!(summary.peak.by_layer["conv1"], 4096 + 8192 + 1024);
        assert_eq!(summary.totals.live_at_exit_bytes, 4608);
        assert_eq!(summary.rss.peak_bytes, Some(20_096));
        assert_eq!(summary.reconcile.last().map(|line| line.name.as_str()), Some("unexplained"));
        assert_eq!(summary.reconcile.iter().map(|line| line.bytes).sum::<i64>(), 20_096);
        assert_eq!(summary.run["allocator"], "jemalloc");
    }

    #[test]
    fn every_split_sums_to_the_peak() {
        let peak = summarise(&Run::new("x".into(), tiny())).peak;
        for split in [peak.by_phase, peak.by_layer, peak.by_op, peak.by_category] {
            assert_eq!(split.values().sum::<u64>(), 16_000);
        }
    }

    #[test]
    fn what_is_unavailable_is_null_or_empty() {
        let mut timeline = tiny();
        timeline.book = None;
        timeline.lanes.clear();
        let summary = serde_json::to_value(summarise(&Run::new("x".into(), timeline))).unwrap();
        assert_eq!(summary["reconcile"], serde_json::json!([]));
        assert!(summary["rss"]["peak_bytes"].is_null());
    }
}
