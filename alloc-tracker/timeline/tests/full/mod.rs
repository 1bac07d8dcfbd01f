//! A timeline in which every field holds something.
#![allow(dead_code)] // each test file uses a part of it

mod analysis;
mod device;
mod power;
pub mod versions;

use std::collections::BTreeMap;

use alloc_timeline::{
    Allocator, Assembler, BeyondLine, Book, BookLine, BookPart, Call, Category, ChildProcesses, Dimension, Door,
    Ending, FORMAT_VERSION, Growing, HighWater, Holder, Machine, Mark, MarkBook, NearLimit, OutsideFigure,
    PeakRequested, Record, Resolution, Row, Sample, SampleCounts, SampledThread, Scope, ScopeTotals, SharedMemory,
    Site, SiteColumn, SiteGrowth, SiteSums, Snapshot, Stacks, Step, Timeline, Totals, TrackerCost,
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
        Record::Scope(Scope { phase: "forward (derived)".into(), ..Scope::default() }),
        Record::LayerKind { layer: "layer1.0.conv1".into(), kind: "3x3 convolution of 64 channels".into() },
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
            requested_bytes: Some(150),
            end_requested_bytes: Some(50),
            derived: true,
        }),
        Record::Peak(snapshot(9)),
        Record::PeakRequested(PeakRequested { time_ns: 8, bytes: 160, blocks: 4 }),
        Record::Book(book()),
        Record::MarkBook(MarkBook { name: "end of step".into(), time_ns: 12, book: Book { time_ns: 13, ..book() } }),
        Record::NearLimit(near_limit()),
        Record::ChildProcesses(child_processes()),
        Record::HighWaters(vec![HighWater {
            dimension: Dimension::Layer,
            name: "layer1.0.conv1".into(),
            live_bytes: 128,
            time_ns: 9,
            process_live_bytes: 192,
            requested_bytes: Some(100),
        }]),
        Record::Totals(Totals {
            allocations: 3,
            frees: 1,
            allocated_bytes: 192,
            reallocations: 1,
            requested_bytes: Some(150),
            by_scope: vec![ScopeTotals { scope: 1, allocations: 2, frees: 1, allocated_bytes: 128, moved_in: -1 }],
        }),
        Record::AtExit(snapshot(14)),
        Record::OutsideFigures(vec![
            OutsideFigure {
                name: "rss".into(),
                peak_bytes: Some(8192),
                at_peak_bytes: Some(4096),
                source: "/proc/self/statm".into(),
            },
            OutsideFigure { name: "gpu".into(), peak_bytes: None, at_peak_bytes: None, source: "no driver".into() },
        ]),
        Record::Tracker(TrackerCost {
            overhead_bytes: Some(2048),
            overhead: BTreeMap::from([("shadow_map".to_owned(), 2048)]),
            dropped_events: Some(1),
            foreign_frees: Some(2),
            overflowed_scopes: Some(3),
            losses: vec!["the disk was full for 2 s".into()],
            probes_ns: BTreeMap::from([("resident".to_owned(), 1_500), ("survey".to_owned(), 7_000)]),
        }),
        Record::Analysis(Box::new(analysis::analysis())),
        Record::Unread(Box::new(analysis::unread())),
        Record::DevicePredictions(vec![device::prediction()]),
        Record::Devices(device::devices()),
        Record::SharedMemory(SharedMemory { mapped: 3, ended: 1, peak: snapshot(11) }),
        Record::Stacks(Box::new(stacks())),
        Record::Utilisation(Box::new(power::utilisation())),
        Record::StepTimes(Box::new(power::step_times())),
        Record::Energy(Box::new(power::energy())),
        Record::End { time_ns: 15, ending: Ending::Finished },
    ]
}

/// Three, of which one could not be read.
fn child_processes() -> ChildProcesses {
    ChildProcesses {
        time_ns: 13,
        processes: 3,
        rss_bytes: 30_000_000,
        pss_bytes: Some(9_000_000),
        private_bytes: Some(4_000_000),
        own_rss_bytes: Some(15_000_000),
        own_pss_bytes: Some(8_000_000),
        unread: 1,
        reasons: vec!["/proc/77/smaps_rollup: Permission denied (os error 13)".into()],
        readings: 2,
    }
}

/// A control group that has been at its limit.
fn near_limit() -> NearLimit {
    let holder = |name: &str, bytes| Some(Holder { name: name.into(), bytes });
    NearLimit {
        time_ns: 12,
        limit: "memory.max of /sys/fs/cgroup/job".into(),
        limit_bytes: 8192,
        room_bytes: 100,
        live_bytes: 192,
        phase: holder("forward", 128),
        layer: holder("layer1.0.conv1", 128),
        op: holder("aten::conv2d", 128),
        growing: Some(Growing { owner: "layer1.0.conv1 in forward".into(), bytes: 128, steps: 1, over_ns: 5 }),
        limit_hits: Some(3),
        stalled_ns: Some(2000),
    }
}

/// A line with parts, and an account beyond the resident set in which one number could not be read.
fn book() -> Book {
    let line = |name: &str, bytes| BookLine { name: name.into(), bytes, ..BookLine::default() };
    let part = |name: &str, bytes| BookPart { name: name.into(), bytes };
    let beyond = |name: &str, bytes, total| BeyondLine { name: name.into(), bytes, total, source: "a file".into() };
    let parts = vec![part("libc.so.6", 3000), part("libm.so.6", 1000)];
    let libraries = BookLine { source: "/proc/self/smaps".into(), parts, ..line("libraries", 4000) };
    Book {
        time_ns: 10,
        live_bytes: 192,
        rss_bytes: 4096,
        lines: vec![line("tracked", 192), libraries, line("unexplained", -96)],
        beyond: vec![
            beyond("RSS", Some(4096), true),
            beyond("shared with other processes", Some(-1000), false),
            beyond("PSS", Some(3096), true),
            beyond("page cache", None, false),
            beyond("memory.current", Some(5000), true),
        ],
    }
}

/// Two sites of three samples, and one of a fourth among the others; the same samples are of a thread that told its name, of one that
/// did not, and of one among the others.
fn stacks() -> Stacks {
    let call = |function: &str, line: Option<u32>, inlined| Call {
        function: function.into(),
        file: line.map(|_| "src/model.rs".into()),
        line,
        inlined,
        object: None,
        // The one that has a line is interpreted.
        language: line.map(|_| "Python".into()),
    };
    let sums = |samples, bytes: u64, exit_samples| SiteSums {
        samples,
        allocated_bytes: bytes,
        error_bytes: bytes / 4,
        allocated_blocks: samples * 4,
        peak_bytes: bytes / 2,
        exit_bytes: bytes / 2,
        exit_samples,
    };
    Stacks {
        mean_bytes: 64,
        seed: 7,
        complete: true,
        samples: SampleCounts {
            taken: 4,
            without_calls: 1,
            cut: 1,
            not_followed: 1,
            lost: 1,
            lost_bytes: 64,
            unnamed_calls: 1,
        },
        calls: vec![
            call("main", Some(3), false),
            call("model::Layer::forward", Some(20), true),
            call("libc10.so+0x1234", None, false),
        ],
        sites: vec![
            Site { scope: 1, calls: vec![0, 1, 2], cut: true, sums: sums(2, 128, 1) },
            Site { scope: 0, calls: Vec::new(), cut: false, sums: sums(1, 64, 1) },
        ],
        others: sums(1, 64, 0),
        growth: SiteGrowth {
            steps: vec![1, 2],
            live_bytes: vec![64, 192],
            columns: vec![SiteColumn { site: 0, live_bytes: vec![0, 128] }],
            other_bytes: vec![64, 64],
        },
        threads: vec![
            SampledThread { number: 1, name: Some("trainer".into()), sums: sums(2, 128, 1) },
            SampledThread { number: 5, name: None, sums: sums(1, 64, 1) },
        ],
        other_threads: sums(1, 64, 0),
    }
}

/// The timeline of [`records`].
pub fn timeline() -> Timeline {
    assembled(|_| true)
}

/// The same of a log whose process was killed before it wrote what only an end tells.
pub fn recovered() -> Timeline {
    assembled(|record| {
        !matches!(record, Record::AtExit(_) | Record::OutsideFigures(_) | Record::Tracker(_) | Record::End { .. })
    })
}

fn assembled(is_written: impl Fn(&Record) -> bool) -> Timeline {
    let mut assembler = Assembler::new();
    records().into_iter().filter(is_written).for_each(|record| assembler.apply(record));
    assembler.timeline()
}
