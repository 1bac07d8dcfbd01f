//! What ends a file, and what waits to be written.
use alloc_replay::{Counts, Event, ScopeId, with_session_times};
use alloc_timeline::Record;

use crate::program::{CONV1, CONV2, Program, names, size};

/// A dump and an end are written by the same function: neither can lack what the other has.
#[test]
fn the_closing_records_are_complete() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 600).free(CONV1, 0x1000, 600).allocate(CONV2, 0x1000, 400);
    let records = program.replay.closing_records(5_000, &program.counts, 77, 3);
    let [
        Record::Peak(peak),
        Record::PeakRequested(requested),
        Record::AtExit(at_exit),
        Record::HighWaters(waters),
        Record::Analysis(analysis),
        Record::Totals(totals),
        Record::DevicePredictions(devices),
    ] = &records[..]
    else {
        panic!("{records:#?}")
    };
    assert_eq!((peak.live_bytes, peak.time_ns, peak.slack_bytes), (600, 1_000, 77));
    assert_eq!((requested.bytes, requested.blocks, requested.time_ns), (590, 1, 1_000));
    assert_eq!((at_exit.live_bytes, at_exit.time_ns, at_exit.slack_bytes), (400, 5_000, 77));
    assert_eq!(waters.len(), 4, "one phase, two layers, no operator");
    assert_eq!((analysis.time_ns, analysis.coverage.blocks), (5_000, 2));
    assert_eq!((totals.allocations, totals.frees, totals.allocated_bytes, totals.reallocations), (2, 1, 1_000, 3));
    // 590 bytes are two units of 512; small requests share a segment of 2 MiB.
    let on_devices: Vec<_> =
        devices.iter().map(|one| (one.requested_bytes, one.allocated_bytes, one.segments)).collect();
    assert_eq!(on_devices, [(590, 1_024, 1); 2], "with the defaults, and with segments that grow");
    assert!(devices.iter().all(|one| one.reserved_bytes == 2 << 20), "{devices:?}");
    let Record::PeakRequested(requested) = with_session_times(records[1].clone(), 400) else { panic!("{records:#?}") };
    assert_eq!(requested.time_ns, 600);
}

#[test]
fn a_mark_has_a_table_where_one_is_wanted() {
    let mut program = Program::new();
    let name = names().name("forward");
    program.allocate(CONV1, 0x1000, 600).event(Event::Mark { name, with_owners: false });
    program.event(Event::Mark { name, with_owners: true }).free(CONV1, 0x1000, 600);
    let records = program.replay.take_records(9);
    let [Record::Mark(plain), Record::Mark(table)] = &records[..] else { panic!("{records:#?}") };
    assert_eq!((plain.name.as_str(), plain.live_bytes, plain.time_ns), ("forward", 600, 2_000));
    assert_eq!((plain.snapshot.is_none(), table.live_bytes), (true, 600));
    let snapshot = table.snapshot.as_ref().expect("a table");
    assert_eq!((snapshot.time_ns, snapshot.slack_bytes, snapshot.rows.len()), (3_000, 9, 1));
    assert_eq!(program.replay.take_records(9), []);
}

/// 64 bytes were in no event: a thread had not published them when the recording ended.
#[test]
fn the_end_takes_in_what_was_in_no_event() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 600);
    let mut counts = program.counts;
    counts[usize::from(CONV2)] += Counts::allocation(size(64));
    let of = |scope: ScopeId| counts[usize::from(scope)];
    program.replay.reconcile_at_end(of, 9_000);
    let live = program.live();
    assert_eq!((live.live_bytes, live.rows[1].scope, live.rows[1].usable_bytes), (664, CONV2.into(), 64));
    let peak = program.replay.session_peak();
    assert_eq!((peak.event, peak.live_bytes, program.peak().time_ns), (u64::MAX, 664, 9_000));
}

/// An event without a time of its own is as late as the latest before it, and time never runs back.
#[test]
fn events_without_a_time_have_that_of_the_event_before() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 600);
    for (number, time_ns) in [(2, 0), (3, 500)] {
        let event = Event::Batch { scope: CONV1, counts: Counts::allocation(size(10 * number)) };
        program.replay.apply(number, time_ns, &event, |_, _| ());
        assert_eq!((program.peak().time_ns, program.replay.session_peak().event), (1_000, number));
    }
}
