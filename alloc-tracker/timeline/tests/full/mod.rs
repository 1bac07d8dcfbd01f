//! A timeline in which every field holds something.
#![allow(dead_code)] // each test file uses a part of it

use std::collections::BTreeMap;

use alloc_timeline::{
    Allocator, Assembler, Book, BookLine, Category, Dimension, Door, Ending, FORMAT_VERSION, HighWater, Lane, Machine,
    Mark, Record, Resolution, Row, Sample, Scope, ScopeTotals, Snapshot, Step, Timeline, Totals, TrackerCost,
};
use serde_json::json;

/// Every kind of record at least once.
pub fn records() -> Vec<Record> {
    let snapshot = |time_ns: u64| Snapshot {
        time_ns,
        live_bytes: 192,
        requested_bytes: 150,
        slack_bytes: 8,
        rows: vec![
            Row { scope: 0, category: Category::Runtime, usable_bytes: 64, requested_bytes: 50, blocks: 1 },
            Row { scope: 1, category: Category::Activation, usable_bytes: 128, requested_bytes: 100, blocks: 2 },
        ],
    };
    vec![
        Record::Start {
            format_version: FORMAT_VERSION,
            run: [("model".to_owned(), json!("resnet18")), ("batch".to_owned(), json!(8))].into(),
            machine: Machine {
                os: "linux".into(),
                arch: "x86_64".into(),
                kernel: "6.1.0".into(),
                cpu: "a processor".into(),
                cpus: 2,
                page_bytes: 4096,
                memory_bytes: 1 << 34,
            },
            allocator: Allocator {
                backend: "jemalloc".into(),
                version: "5.3.0".into(),
                config: [("dirty_decay_ms".to_owned(), "-1".to_owned())].into(),
                doors: vec![Door::Rust, Door::C],
            },
            interval_ns: 10_000_000,
        },
        Record::Run("mode".into(), json!("train")),
        Record::Resolution(Resolution {
            object: "libc10.so".into(),
            symbol: "malloc".into(),
            resolved_in: "trainer".into(),
            tracked: true,
        }),
        Record::Scope(Scope::default()),
        Record::Scope(Scope { phase: "forward".into(), layer: "layer1.0.conv1".into(), op: "aten::conv2d".into() }),
        Record::Sample(Sample {
            time_ns: 10,
            live_bytes: 192,
            requested_bytes: 150,
            high_bytes: 256,
            rows: vec![(0, Category::Runtime, 64), (1, Category::Activation, 128)],
            probes: vec![("rss".into(), Some(4096)), ("gpu_process".into(), None)],
        }),
        Record::Mark(Mark {
            time_ns: 11,
            name: "end of forward".into(),
            live_bytes: 192,
            snapshot: Some(snapshot(11)),
        }),
        Record::Mark(Mark { time_ns: 12, name: "end of step".into(), live_bytes: 192, snapshot: None }),
        Record::Step(Step {
            index: 1,
            start_ns: 1,
            end_ns: 13,
            peak_ns: 9,
            live_bytes: 192,
            by_category: [("runtime".to_owned(), 64), ("activation".to_owned(), 128)].into(),
            end_live_bytes: 64,
        }),
        Record::Peak(snapshot(9)),
        Record::Book(Book {
            time_ns: 10,
            live_bytes: 192,
            rss_bytes: 4096,
            lines: vec![
                BookLine { name: "tracked".into(), bytes: 192 },
                BookLine { name: "libraries".into(), bytes: 4000 },
                BookLine { name: "unexplained".into(), bytes: -96 },
            ],
        }),
        Record::HighWaters(vec![HighWater {
            dimension: Dimension::Layer,
            name: "layer1.0.conv1".into(),
            live_bytes: 128,
            time_ns: 9,
            process_live_bytes: 192,
        }]),
        Record::Totals(Totals {
            allocations: 3,
            frees: 1,
            allocated_bytes: 192,
            reallocations: 1,
            by_scope: vec![ScopeTotals { scope: 1, allocations: 2, frees: 1, allocated_bytes: 128 }],
        }),
        Record::AtExit(snapshot(14)),
        Record::Lanes(vec![
            Lane {
                name: "rss".into(),
                peak_bytes: Some(8192),
                at_peak_bytes: Some(4096),
                source: "/proc/self/statm".into(),
            },
            Lane { name: "gpu".into(), peak_bytes: None, at_peak_bytes: None, source: "no driver".into() },
        ]),
        Record::Tracker(TrackerCost {
            overhead_bytes: 2048,
            overhead: BTreeMap::from([("shadow_map".to_owned(), 2048)]),
            dropped_events: 1,
            foreign_frees: 2,
            overflowed_scopes: 3,
            losses: vec!["the disk was full for 2 s".into()],
        }),
        Record::End { time_ns: 15, ending: Ending::Finished },
    ]
}

/// The timeline of [`records`].
pub fn timeline() -> Timeline {
    let mut assembler = Assembler::new();
    for record in records() {
        assembler.apply(record);
    }
    assembler.timeline()
}
