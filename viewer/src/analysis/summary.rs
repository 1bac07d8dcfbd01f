//! The figures of a run that scripts rely on: `viewer summary --json` prints them. The field names never change.
use std::collections::BTreeMap;

use alloc_timeline::{
    ChildProcesses, DevicePrediction, Dimension, Ending, HighWater, NearLimit, OutsideFigure, PeakRequested, Scope,
    Snapshot, Step, is_inherited,
};
use serde::Serialize;
use serde_json::Value;

use crate::analysis::devices::{DeviceFigures, devices, no_device};
use crate::analysis::owners::{OwnerBytes, owners};
use crate::analysis::self_time::{SelfTimeFigures, self_time_figures};
use crate::analysis::splits::{Splits, by_category_and_op};
use crate::analysis::unread::{UnreadFigures, unread_figures};
use crate::analysis::usage::{Power, power};
use crate::model::Run;

/// Number of owners alive at exit that are listed.
const ALIVE_LISTED: usize = 20;

/// All figures of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Format version of the file.
    pub format_version: u32,
    /// How the recording ended.
    pub ending: Ending,
    /// Length of the session.
    pub duration_ns: u64,
    /// The instant with the most live bytes.
    pub peak: Peak,
    /// The instant with the most requested bytes. Older files do not contain it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_requested: Option<PeakRequested>,
    /// Counts over the whole run.
    pub totals: TotalCounts,
    /// The resident set.
    pub rss: Rss,
    /// The account of the resident set: its lines sum to the resident set. Empty when /proc could not be read.
    pub reconcile: Vec<ReconcileLine>,
    /// When the run came near what it may have. Left out where it never did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near_limits: Vec<NearLimit>,
    /// The child processes, when they and this process took most of all readings. Left out where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_processes: Option<ChildProcesses>,
    /// The tensors in shared memory, at the instant with the most of them. Left out where nobody told of any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_memory: Option<SharedMemoryFigures>,
    /// The memory of each device that the run used.
    pub devices: Vec<DeviceFigures>,
    /// Why there is no figure of any device. Left out where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices_unavailable: Option<String>,
    /// What the tensors would have taken on a device. Left out where there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device_predictions: Vec<DevicePrediction>,
    /// What of the peak nobody read again; null where nobody told what operators read.
    pub unread: Option<UnreadFigures>,
    /// What the run used of the processors and of energy.
    pub power: Power,
    /// How long each phase, layer and operator took itself. Left out where no times were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_times: Option<SelfTimeFigures>,
    /// All figures from outside the tracker, including those that are missing.
    pub lanes: Vec<OutsideFigure>,
    /// What the tracker cost, and what it could not record.
    pub tracker: TrackerFigures,
    /// Each phase's, layer's and operator's own peak, the biggest first.
    pub high_waters: Vec<HighWater>,
    /// The phases that the program did not name. Left out when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub derived_phases: Vec<String>,
    /// What layers are, by layer. Left out when it is known of none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub layer_kinds: BTreeMap<String, String>,
    /// The steps with their own peaks.
    pub steps: Vec<Step>,
    /// What was live when the session ended; null where the recording did not reach its end.
    pub alive_at_exit: Option<AliveAtExit>,
    /// The facts that the program recorded about itself, and the allocator's name.
    pub run: BTreeMap<String, Value>,
}

/// The instant with the most live bytes. Each split sums to `live_bytes`.
#[derive(Clone, Debug, Serialize)]
pub struct Peak {
    /// Usable bytes not yet freed.
    pub live_bytes: u64,
    /// The bytes that the callers asked for, of the same blocks.
    pub requested_bytes: u64,
    /// The time of the peak, since the session began.
    pub time_ns: u64,
    /// The largest possible difference between `live_bytes` and the true value.
    pub slack_bytes: u64,
    /// Bytes with neither a phase nor a layer nor an operator, except for those of the start-up.
    pub unattributed_bytes: u64,
    /// Bytes that were allocated before the process was forked. Left out of a process that has nothing of that kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherited_bytes: Option<u64>,
    /// The same bytes by phase, layer, operator and category.
    #[serde(flatten)]
    pub splits: Splits,
    /// The bytes of each category by operator: the copies that autocast has made are activations of `aten::_to_copy`.
    pub by_category_and_op: BTreeMap<String, BTreeMap<String, u64>>,
}

/// Counts over the whole run.
#[derive(Clone, Debug, Serialize)]
pub struct TotalCounts {
    /// Blocks allocated.
    pub allocations: u64,
    /// Blocks freed.
    pub frees: u64,
    /// Blocks resized. They count neither as allocations nor as frees.
    pub reallocations: u64,
    /// Usable bytes of all blocks ever allocated.
    pub allocated_bytes: u64,
    /// Usable bytes that were live when the session ended; null where the recording did not reach its end.
    pub live_at_exit_bytes: Option<u64>,
}

/// The resident set.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rss {
    /// The largest value that was read.
    pub peak_bytes: Option<u64>,
    /// The value that was read nearest to the peak of the live bytes.
    pub at_peak_bytes: Option<u64>,
}

/// One line of the account of the resident set.
#[derive(Clone, Debug, Serialize)]
pub struct ReconcileLine {
    /// The kind of memory.
    pub name: String,
    /// Its bytes; negative where the line takes bytes away.
    pub bytes: i64,
}

/// What the tracker cost, and what it could not record. Numbers are null where the recording did not reach its end.
#[derive(Clone, Debug, Serialize)]
pub struct TrackerFigures {
    /// Resident bytes of the tracker's own data.
    pub overhead_bytes: Option<u64>,
    /// The same bytes by part of the tracker.
    pub overhead: BTreeMap<String, u64>,
    /// Events that were counted, but whose order is lost.
    pub dropped_events: Option<u64>,
    /// Frees of blocks whose allocation the tracker had not seen.
    pub foreign_frees: Option<u64>,
    /// Scopes that did not fit the table.
    pub overflowed_scopes: Option<u64>,
    /// What went wrong while recording.
    pub losses: Vec<String>,
}

/// Tensors in shared memory. Each split sums to `bytes`.
#[derive(Clone, Debug, Serialize)]
pub struct SharedMemoryFigures {
    /// How many were mapped.
    pub mapped: u64,
    /// How many of them were unmapped or handed over since.
    pub ended: u64,
    /// The instant at which most was mapped, since the session began.
    pub time_ns: u64,
    /// The bytes of the storages then.
    pub bytes: u64,
    /// The same bytes by phase, layer, operator and category.
    #[serde(flatten)]
    pub splits: Splits,
}

/// What was live when the session ended.
#[derive(Clone, Debug, Serialize)]
pub struct AliveAtExit {
    /// By category. The bytes sum to `totals.live_at_exit_bytes`.
    pub by_category: BTreeMap<String, u64>,
    /// The biggest owners.
    pub owners: Vec<OwnerBytes>,
}

/// The summary of a run.
pub fn summarise(run: &Run) -> Summary {
    let timeline = &run.timeline;
    let scopes = run.scopes();
    let peak = &timeline.peak;
    let at_exit = timeline.at_exit.as_ref().map(|at_exit| &at_exit.snapshot);
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
            inherited_bytes: inherited_bytes(peak, scopes),
            splits: Splits::new(peak, scopes),
            by_category_and_op: by_category_and_op(peak, scopes),
        },
        peak_requested: timeline.peak_requested,
        totals: TotalCounts {
            allocations: timeline.totals.allocations,
            frees: timeline.totals.frees,
            reallocations: timeline.totals.reallocations,
            allocated_bytes: timeline.totals.allocated_bytes,
            live_at_exit_bytes: at_exit.map(|at_exit| at_exit.live_bytes),
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
        near_limits: timeline.near_limits.clone(),
        child_processes: timeline.child_processes.clone(),
        shared_memory: timeline.shared_memory.as_ref().map(|shared| SharedMemoryFigures {
            mapped: shared.mapped,
            ended: shared.ended,
            time_ns: shared.peak.time_ns,
            bytes: shared.peak.live_bytes,
            splits: Splits::new(&shared.peak, scopes),
        }),
        devices: devices(run),
        devices_unavailable: no_device(run),
        device_predictions: timeline.device_predictions.clone(),
        unread: unread_figures(timeline),
        power: power(timeline),
        self_times: self_time_figures(timeline),
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
        derived_phases: timeline.derived_phases.clone(),
        layer_kinds: timeline.layer_kinds.clone(),
        steps: timeline.steps.clone(),
        alive_at_exit: at_exit.map(|at_exit| AliveAtExit {
            by_category: at_exit.by(scopes, Dimension::Category),
            owners: owners(at_exit, scopes).into_iter().take(ALIVE_LISTED).collect(),
        }),
        run: facts,
    }
}

/// What of a snapshot was allocated before the process was forked; `None` when no scope is of that kind.
fn inherited_bytes(snapshot: &Snapshot, scopes: &[Scope]) -> Option<u64> {
    scopes.iter().find(|scope| is_inherited(scope))?;
    let inherited = snapshot.rows.iter().filter(|row| scopes.get(row.scope as usize).is_some_and(is_inherited));
    Some(inherited.map(|row| row.usable_bytes).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use alloc_timeline::inherited_name;

    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn the_figures_are_the_fixtures() {
        let summary = summarise(&Run::new("x", tiny()));
        assert_eq!(summary.peak.live_bytes, 16_000);
        assert_eq!(summary.peak.requested_bytes, 15_000);
        // Only the `other` row counts: the 512 bytes of the runtime have no owner either, but they are explained.
        assert_eq!(summary.peak.unattributed_bytes, 128);
        assert_eq!(summary.peak.splits.by_category["activation"], 10_240);
        assert_eq!(summary.peak.splits.by_layer["conv1"], 4096 + 8192 + 1024);
        assert_eq!(summary.totals.live_at_exit_bytes, Some(4608));
        assert_eq!(summary.rss.peak_bytes, Some(20_096));
        assert_eq!(summary.reconcile.last().map(|line| line.name.as_str()), Some("unexplained"));
        assert_eq!(summary.reconcile.iter().map(|line| line.bytes).sum::<i64>(), 20_096);
        assert_eq!(summary.run["allocator"], "jemalloc");
    }

    /// The bytes of `conv1` (activations of 8,192 bytes in the forward pass among them) were the parent's.
    #[test]
    fn what_a_forked_child_has_from_its_parent_is_told() {
        let mut timeline = tiny();
        assert_eq!(summarise(&Run::new("x", timeline.clone())).peak.inherited_bytes, None);
        for scope in timeline.scopes.iter_mut().filter(|scope| scope.layer == "conv1") {
            (scope.phase, scope.layer) = (inherited_name(&scope.phase), inherited_name(&scope.layer));
        }
        let peak = summarise(&Run::new("x", timeline)).peak;
        assert_eq!(peak.inherited_bytes, Some(4096 + 8192 + 1024));
        assert_eq!(peak.splits.by_layer["conv1 (inherited)"], 4096 + 8192 + 1024);
    }

    #[test]
    fn every_split_sums_to_the_peak() {
        let peak = summarise(&Run::new("x", tiny())).peak;
        for split in peak.splits.all() {
            assert_eq!(split.values().sum::<u64>(), 16_000);
        }
    }

    #[test]
    fn what_is_unavailable_is_null_or_empty() {
        let mut timeline = tiny();
        timeline.book = None;
        timeline.lanes.clear();
        let summary = serde_json::to_value(summarise(&Run::new("x", timeline))).unwrap();
        assert_eq!(summary["reconcile"], serde_json::json!([]));
        assert!(summary["rss"]["peak_bytes"].is_null());
    }
}
