//! What a recording writes down now and then, so that a run that is killed leaves it: own peaks and counts.
use alloc_replay::Replay;
use alloc_timeline::Record;

use super::counts;

/// The records of a summary: own peaks and counts, and the devices where there are some.
pub fn records(replay: &Replay) -> Vec<Record> {
    let totals = alloc_replay::totals(&counts::by_scope(), counts::reallocations());
    let mut records = vec![
        Record::PeakRequested(replay.peak_requested()),
        Record::HighWaters(replay.high_waters()),
        Record::Totals(totals),
    ];
    records.extend(replay.device_records());
    records
}
