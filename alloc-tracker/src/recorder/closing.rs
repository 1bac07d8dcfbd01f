//! The last records of a timeline, of a dump as well as of a finished one.
use std::sync::atomic::Ordering;

use alloc_replay::{Replay, with_session_times};
use alloc_timeline::{Record, TrackerCost};

use super::clock::SessionClock;
use super::counts;
use super::output::Output;
use crate::ledger::totals;
use crate::{probe, scope, scopes};

/// The replay's last records, with times since the session began. `now_ns` is the clock's time.
pub fn replayed(replay: &Replay, now_ns: u64, clock: &SessionClock) -> Vec<Record> {
    let counts = counts::by_scope();
    let records = replay.closing_records(now_ns, &counts, counts::slack_bytes(), counts::reallocations());
    records.into_iter().map(|record| with_session_times(record, clock.start_ns())).collect()
}

/// The time since the session began of the peak in the replay's last records.
pub fn peak_ns(replayed: &[Record]) -> Option<u64> {
    replayed.iter().find_map(|record| match record {
        Record::Peak(peak) => Some(peak.time_ns),
        _ => None,
    })
}

/// What the tracker has cost and lost so far. The lines that wait to be written are written first, so that their memory is not in it.
pub fn tracker_cost(output: &mut Output) -> TrackerCost {
    output.flush();
    let overhead = probe::cost::overhead_now();
    TrackerCost {
        overhead_bytes: Some(overhead.values().sum()),
        overhead,
        dropped_events: Some(totals::DROPPED_EVENTS.load(Ordering::Relaxed)),
        foreign_frees: Some(totals::FOREIGN_FREES.load(Ordering::Relaxed)),
        overflowed_scopes: Some(scope::overflowed() + scopes::too_deep()),
        losses: output.losses().to_vec(),
        probes_ns: probe::spent::by_probe(),
    }
}
