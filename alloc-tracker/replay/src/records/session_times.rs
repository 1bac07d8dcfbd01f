//! Times of the session in place of the clock's.
use alloc_timeline::Record;

/// A record of a replay, whose times are the clock's, with times since the session began at `start_ns`. Records that a
/// replay does not make stay as they are.
pub fn with_session_times(mut record: Record, start_ns: u64) -> Record {
    let shift = |time_ns: &mut u64| *time_ns = time_ns.saturating_sub(start_ns);
    match &mut record {
        Record::Peak(snapshot) | Record::AtExit(snapshot) => shift(&mut snapshot.time_ns),
        Record::PeakRequested(peak) => shift(&mut peak.time_ns),
        Record::Mark(mark) => {
            shift(&mut mark.time_ns);
            mark.snapshot.iter_mut().for_each(|snapshot| shift(&mut snapshot.time_ns));
        }
        Record::Step(step) => [&mut step.start_ns, &mut step.end_ns, &mut step.peak_ns].into_iter().for_each(shift),
        Record::HighWaters(waters) => waters.iter_mut().for_each(|water| shift(&mut water.time_ns)),
        Record::Analysis(analysis) => {
            shift(&mut analysis.time_ns);
            analysis.figures.iter_mut().for_each(|figures| shift(&mut figures.peak_ns));
        }
        Record::Unread(unread) => {
            [&mut unread.time_ns, &mut unread.prompt_peak_ns].into_iter().for_each(shift);
            let times = unread.rows.iter_mut().flat_map(|row| [&mut row.read_ns, &mut row.freed_ns]);
            times.flatten().for_each(shift);
        }
        Record::Devices(devices) => {
            devices.iter_mut().filter_map(|device| device.peak.as_mut()).for_each(|peak| shift(&mut peak.time_ns));
        }
        Record::SharedMemory(shared) => shift(&mut shared.peak.time_ns),
        _ => {}
    }
    record
}

#[cfg(test)]
mod tests {
    use alloc_timeline::{Mark, Snapshot, Step};

    use super::*;

    #[test]
    fn the_session_begins_at_zero() {
        let snapshot = Snapshot { time_ns: 1_050, ..Snapshot::default() };
        let mark = Mark { time_ns: 1_050, name: "warm".to_owned(), live_bytes: 0, snapshot: Some(snapshot) };
        let Record::Mark(mark) = with_session_times(Record::Mark(mark), 1_000) else { panic!("a mark") };
        assert_eq!((mark.time_ns, mark.snapshot.map(|snapshot| snapshot.time_ns)), (50, Some(50)));
        let step = Step {
            index: 1,
            start_ns: 1_010,
            end_ns: 1_030,
            peak_ns: 900,
            live_bytes: 7,
            by_category: Default::default(),
            end_live_bytes: 7,
            requested_bytes: None,
            end_requested_bytes: None,
            derived: false,
        };
        let Record::Step(step) = with_session_times(Record::Step(step), 1_000) else { panic!("a step") };
        assert_eq!((step.start_ns, step.end_ns, step.peak_ns), (10, 30, 0), "nothing is before the session");
    }
}
