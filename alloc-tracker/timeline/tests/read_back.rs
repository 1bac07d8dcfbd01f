//! What was written is read back the same, and what cannot be read is said to be what it is.
mod full;

use std::path::Path;

use alloc_timeline::{
    Assembler, BeyondLine, Book, BookLine, Category, LoadError, Mark, Record, Row, Sample, Scope, Snapshot, Timeline,
    encode, load, parse, store,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn text(timeline: &Timeline) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(timeline, &mut bytes).unwrap();
    bytes
}

/// What an assembler writes without making a timeline.
fn streamed(assembler: &Assembler) -> Vec<u8> {
    let mut bytes = Vec::new();
    assembler.encode(&mut bytes).unwrap();
    bytes
}

fn error(bytes: &[u8]) -> LoadError {
    parse(bytes, Path::new("x.timeline.json")).unwrap_err()
}

/// After no record, after one, and so on: what a recorder writes is the timeline.
#[test]
fn what_is_written_without_a_timeline_is_the_timeline() {
    let mut assembler = Assembler::new();
    for record in [None].into_iter().chain(full::records().into_iter().map(Some)) {
        let said = format!("{record:?}");
        record.into_iter().for_each(|record| assembler.apply(record));
        let timeline = text(&assembler.clone().timeline());
        assert_eq!(String::from_utf8(streamed(&assembler)).unwrap(), String::from_utf8(timeline).unwrap(), "{said}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.timeline.json");
    assembler.store(&path).unwrap();
    assert_eq!(load(&path).unwrap(), full::timeline());
}

/// A copy has what the recorder had when it was made, and the recorder does not have what was added to the copy.
#[test]
fn a_copy_and_the_recorder_go_on_by_themselves() {
    let mut assembler = Assembler::new();
    full::records().into_iter().for_each(|record| assembler.apply(record));
    let mut copy = assembler.clone();
    let sample = |time_ns| Record::Sample(Sample { time_ns, ..Sample::default() });
    copy.apply(sample(100));
    assembler.apply(sample(200));
    copy.apply(Record::Scope(Scope { phase: "copied".into(), ..Scope::default() }));
    let [copy, whole] = [copy, assembler].map(Assembler::timeline);
    assert_eq!(copy.series.time_ns, [10, 100]);
    assert_eq!(whole.series.time_ns, [10, 200]);
    assert_eq!(copy.scopes.len(), whole.scopes.len() + 1);
}

/// A recorder that is killed has written a higher peak, perhaps, than the one whose reads it wrote.
#[test]
fn reads_of_an_earlier_peak_are_left_out() {
    let mut assembler = Assembler::new();
    full::records().into_iter().for_each(|record| assembler.apply(record));
    assert!(assembler.clone().timeline().unread.is_some());
    let peak = Snapshot { time_ns: 10, ..full::timeline().peak };
    assembler.apply(Record::Peak(peak));
    assert_eq!(assembler.timeline().unread, None);
}

/// The full timeline with one value changed.
fn changed(pointer: &str, value: Value) -> Vec<u8> {
    let mut document = serde_json::to_value(full::timeline()).unwrap();
    *document.pointer_mut(pointer).unwrap() = value;
    serde_json::to_vec(&document).unwrap()
}

#[test]
fn a_log_is_read_back_the_same() {
    for record in full::records() {
        let line = serde_json::to_string(&record).unwrap();
        assert!(!line.contains('\n'), "a record is one line: {line}");
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
    }
}

#[test]
fn a_stored_timeline_loads_and_nothing_else_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.timeline.json");
    store(&full::timeline(), &path).unwrap();
    assert_eq!(load(&path).unwrap(), full::timeline());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_store_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert!(store(&full::timeline(), folder.path().join("none/x.timeline.json")).is_err());
    // A folder in the place of the file: the rename fails, and the partial file goes.
    std::fs::create_dir(folder.path().join("taken")).unwrap();
    assert!(store(&full::timeline(), folder.path().join("taken")).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A timeline has the mode that any new file of this process has, and takes the place of an older one.
#[cfg(unix)]
#[test]
fn a_stored_timeline_is_a_file_like_any_other() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
    std::fs::write(folder.path().join("other"), "").unwrap();
    std::fs::write(folder.path().join("x.timeline.json"), "older").unwrap();
    store(&full::timeline(), folder.path().join("x.timeline.json")).unwrap();
    assert_eq!(mode("x.timeline.json"), mode("other"));
    assert_eq!(load(folder.path().join("x.timeline.json")).unwrap(), full::timeline());
}

#[test]
fn a_missing_file_is_an_io_error() {
    let error = load("no/such.timeline.json").unwrap_err();
    assert!(matches!(&error, LoadError::Io { .. }), "{error:?}");
    // The cause is told once, by the chain of errors.
    assert_eq!(error.to_string(), "no/such.timeline.json: cannot be read");
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn an_empty_file_is_empty() {
    for bytes in [&b""[..], b"  \n\t\n"] {
        assert!(matches!(error(bytes), LoadError::Empty { .. }));
    }
}

#[test]
fn every_cut_is_truncated() {
    let whole = text(&full::timeline());
    // Up to the final brace: from there on the file is whole. Right behind a minus sign the JSON reader speaks of an
    // invalid number rather than of an early end; that cut is no timeline either, but is not told as truncated.
    for length in (1..whole.len() - 2).filter(|length| whole[length - 1] != b'-' || whole[length - 2] != b':') {
        let error = error(&whole[..length]);
        assert!(matches!(error, LoadError::Truncated { bytes, .. } if bytes == length as u64), "{length}: {error}");
    }
}

#[test]
fn other_files_are_no_timelines() {
    for bytes in [
        &b"hello"[..],
        b"[1,2]",
        b"{\"a\":1}",
        b"{\"format\":\"other\",\"format_version\":1}",
        b"{\"format\":\"alloc-timeline\"}",
        b"{\"format\":\"alloc-timeline\",\"format_version\":0}",
        b"\x89PNG\r\n",
    ] {
        assert!(matches!(error(bytes), LoadError::NotATimeline { .. }), "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_newer_version_is_newer_even_when_nothing_else_is_known() {
    let error = error(b"{\"format\":\"alloc-timeline\",\"format_version\":2,\"new\":{}}");
    assert!(matches!(error, LoadError::Newer { found: 2, .. }));
    assert!(error.to_string().contains("use a newer viewer"));
}

#[test]
fn numbers_that_contradict_each_other_are_damage() {
    for (bytes, said) in [
        (changed("/peak/live_bytes", json!(191)), "rows of \"peak\""),
        (changed("/peak/rows/0/usable_bytes", json!(u64::MAX)), "rows of \"peak\""),
        (changed("/peak/rows/0/scope", json!(9)), "names scope 9"),
        (changed("/at_exit/snapshot/live_bytes", json!(0)), "at_exit"),
        (changed("/marks/0/snapshot/rows", json!([])), "end of forward"),
        (changed("/series/live_bytes", json!([])), "columns"),
        (changed("/series/probes/rss", json!([1, 2])), "columns"),
        (changed("/book/rss_bytes", json!(1)), "book"),
        (changed("/book/beyond/1/bytes", json!(1)), "the lines before \"PSS\" in \"book\" do not sum to it"),
        (changed("/analysis/flows/0/usable_bytes", json!(1)), "\"flows\" and \"histograms\""),
        (changed("/analysis/histograms/1/held/blocks", json!(2)), "the sizes of \"runtime\""),
        (changed("/analysis/figures/0/process_by_phase/forward", json!(1)), "\"figures\" of forward, *"),
        (changed("/analysis/growth/other_bytes/1", json!(65)), "do not sum"),
        (changed("/analysis/growth/steps", json!([1])), "differ in length from its 1 steps"),
        (changed("/analysis/growth/owners/0/scope", json!(9)), "names scope 9"),
        (changed("/unread/live_bytes", json!(191)), "not of the instant of \"peak\""),
        (changed("/unread/unknown_bytes", json!(21)), "parts of \"unread\""),
        (changed("/unread/rows/0/blocks", json!(3)), "rows of \"unread\""),
        (changed("/unread/rows/0/freed_in", json!(9)), "names scope 9"),
        (changed("/utilisation/scopes/1/scope", json!(9)), "\"utilisation\" names scope 9"),
        (changed("/energy/scopes/1/scope", json!(9)), "\"energy\" names scope 9"),
        (changed("/energy/scopes/1/by_meter_uj", json!([16])), "one figure for each of 2 meters"),
        (changed("/energy/scopes/1/by_meter_uj/0", json!(17)), "do not sum to what package-0 measured"),
        (changed("/step_times/0/wall_ns", json!(13)), "do not sum to its wall_ns"),
        (changed("/step_times/0/stepping_thread/active_ns/0", json!(5)), "do not sum to its wall_ns"),
        (changed("/step_times/0/other_threads/calls", json!([])), "columns differ in length"),
        (changed("/step_times/0/other_threads/scopes/0", json!(9)), "names scope 9"),
        (changed("/step_times/0/last_step", json!(0)), "not in order"),
        (changed("/peak", json!(null)), "invalid type"),
    ] {
        let error = error(&bytes);
        assert!(matches!(&error, LoadError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
    // A total right behind another begins an account of its own: nothing has to sum to it.
    let mut timeline = full::timeline();
    let swap = BeyondLine { name: "swap".into(), bytes: Some(7), total: true, source: String::new() };
    timeline.book.as_mut().unwrap().beyond.push(swap);
    assert!(parse(&text(&timeline), Path::new("x")).is_ok());
    let series = &mut timeline.series;
    for column in [&mut series.live_bytes, &mut series.requested_bytes, &mut series.high_bytes] {
        column.push(0);
    }
    series.time_ns.push(3);
    for dimension in alloc_timeline::Dimension::ALL {
        series.by_mut(dimension).values_mut().for_each(|column| column.push(0));
    }
    series.probes.values_mut().for_each(|column| column.push(None));
    assert!(error(&text(&timeline)).to_string().contains("go back"));
}

prop_compose! {
    fn snapshot(scopes: u32)(
        time_ns in any::<u64>(),
        slack_bytes in any::<u64>(),
        rows in prop::collection::vec((0..scopes, 0..10usize, 0..u64::MAX / 16, any::<u64>(), any::<u64>()), 0..8),
    ) -> Snapshot {
        let rows: Vec<Row> = rows
            .into_iter()
            .map(|(scope, category, usable_bytes, requested_bytes, blocks)| Row {
                scope, category: Category::ALL[category], usable_bytes, requested_bytes: requested_bytes / 16, blocks,
            })
            .collect();
        Snapshot {
            time_ns,
            live_bytes: rows.iter().map(|row| row.usable_bytes).sum(),
            requested_bytes: rows.iter().map(|row| row.requested_bytes).sum(),
            slack_bytes,
            rows,
        }
    }
}

proptest! {
    #[test]
    fn encode_then_parse_is_the_identity(
        facts in prop::collection::btree_map(".*", any::<i64>(), 0..4),
        scopes in prop::collection::vec((".{0,8}", ".{0,8}", ".{0,8}"), 3),
        mut samples in prop::collection::vec((any::<u64>(), 0..3u32, 0..10usize, any::<u64>(), any::<Option<u64>>()), 0..20),
        (peak, at_exit, marked) in (snapshot(3), snapshot(3), snapshot(3)),
        lines in prop::collection::vec((".*", any::<i32>().prop_map(i64::from)), 1..5),
    ) {
        let mut assembler = Assembler::new();
        for (key, value) in facts {
            assembler.apply(Record::Run(key, value.into()));
        }
        for (phase, layer, op) in scopes {
            assembler.apply(Record::Scope(Scope { phase, layer, op }));
        }
        samples.sort_unstable();
        for (time_ns, scope, category, live_bytes, probe) in samples {
            assembler.apply(Record::Sample(Sample {
                time_ns,
                live_bytes,
                requested_bytes: live_bytes,
                high_bytes: live_bytes,
                rows: vec![(scope, Category::ALL[category], live_bytes)],
                probes: vec![("rss".into(), probe)],
            }));
        }
        assembler.apply(Record::Peak(peak));
        assembler.apply(Record::AtExit(at_exit));
        let live_bytes = marked.live_bytes;
        assembler.apply(Record::Mark(Mark { time_ns: 1, name: "m".into(), live_bytes, snapshot: Some(marked) }));
        let sum: i64 = lines.iter().map(|line| line.1).sum();
        if let Ok(rss_bytes) = u64::try_from(sum) {
            let lines = lines.into_iter().map(|(name, bytes)| BookLine { name, bytes, ..BookLine::default() }).collect();
            assembler.apply(Record::Book(Book { time_ns: 1, live_bytes: 1, rss_bytes, lines, beyond: Vec::new() }));
        }
        let streamed = streamed(&assembler);
        let timeline = assembler.timeline();
        prop_assert_eq!(&String::from_utf8(streamed).unwrap(), &String::from_utf8(text(&timeline)).unwrap());
        prop_assert_eq!(parse(&text(&timeline), Path::new("x")).unwrap(), timeline);
    }
}
