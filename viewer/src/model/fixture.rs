//! A run small enough to check by hand, for the unit tests.
use alloc_timeline::{
    Assembler, BeyondLine, Book, BookLine, BookPart, Category, DeviceMemory, Dimension, Ending, FORMAT_VERSION,
    HighWater, OutsideFigure, Record, Row, Sample, Scope, ScopeTimes, Snapshot, Step, StepTimes, Timeline, Totals,
    TrackerCost,
};
use serde_json::json;

fn scope(phase: &str, layer: &str, op: &str) -> Record {
    Record::Scope(Scope { phase: phase.into(), layer: layer.into(), op: op.into() })
}

fn row(scope: u32, category: Category, usable_bytes: u64) -> Row {
    // A sixteenth of every block is padding, so that requested and usable bytes differ.
    Row { scope, category, usable_bytes, requested_bytes: usable_bytes / 16 * 15, blocks: 1 }
}

fn snapshot(time_ns: u64, rows: Vec<Row>) -> Snapshot {
    Snapshot {
        time_ns,
        live_bytes: rows.iter().map(|row| row.usable_bytes).sum(),
        requested_bytes: rows.iter().map(|row| row.requested_bytes).sum(),
        slack_bytes: 0,
        rows,
    }
}

/// One training step of a net with one convolution and one norm. The peak holds 16,000 bytes: 4,096 parameter, 10,240
/// activation (conv1 8,192, layer1.0.bn1 2,048), 1,024 gradient, 512 runtime, and 128 other without an owner.
pub(crate) fn tiny() -> Timeline {
    use Category::{Activation, Gradient, Other, Parameter, Runtime};
    let peak = snapshot(
        4_000_000,
        vec![
            row(0, Runtime, 512),
            row(0, Other, 128),
            row(1, Parameter, 4096),
            row(2, Activation, 8192),
            row(3, Activation, 2048),
            row(4, Gradient, 1024),
        ],
    );
    let mut assembler = Assembler::new();
    assembler.apply(Record::Start {
        format_version: FORMAT_VERSION,
        run: [("model", json!("lenet")), ("mode", json!("train")), ("batch", json!(8)), ("image_size", json!(28))]
            .map(|(key, value)| (key.to_owned(), value))
            .into(),
        machine: Default::default(),
        allocator: alloc_timeline::Allocator { backend: "jemalloc".into(), ..Default::default() },
        interval_ns: 1_000_000,
    });
    for record in [
        scope("", "", ""),
        scope("init", "conv1", "aten::empty"),
        scope("forward", "conv1", "aten::conv2d"),
        scope("forward", "layer1.0.bn1", "aten::batch_norm"),
        scope("backward", "conv1", "ConvolutionBackward0"),
    ] {
        assembler.apply(record);
    }
    let samples: [&[(u32, Category, u64)]; 6] = [
        &[(0, Runtime, 512)],
        &[(0, Runtime, 512), (0, Other, 128), (1, Parameter, 4096)],
        &[(0, Runtime, 512), (0, Other, 128), (1, Parameter, 4096), (2, Activation, 8192)],
        &[(0, Runtime, 512), (0, Other, 128), (1, Parameter, 4096), (2, Activation, 8192), (3, Activation, 2048)],
        &[(0, Runtime, 512), (0, Other, 128), (1, Parameter, 4096), (2, Activation, 8192), (4, Gradient, 1024)],
        &[(0, Runtime, 512), (0, Other, 128), (1, Parameter, 4096), (4, Gradient, 1024)],
    ];
    for (index, rows) in samples.iter().enumerate() {
        let live_bytes: u64 = rows.iter().map(|row| row.2).sum();
        assembler.apply(Record::Sample(Sample {
            time_ns: index as u64 * 1_000_000 + 500_000,
            live_bytes,
            requested_bytes: live_bytes / 16 * 15,
            high_bytes: if index == 4 { 16_000 } else { live_bytes },
            rows: rows.to_vec(),
            probes: vec![("rss".into(), Some(live_bytes + 4096))],
        }));
    }
    assembler.apply(Record::Step(Step {
        index: 1,
        start_ns: 1_500_000,
        end_ns: 5_500_000,
        peak_ns: 4_000_000,
        live_bytes: peak.live_bytes,
        by_category: peak.by(&assembler.clone().timeline().scopes, Dimension::Category),
        end_live_bytes: 5760,
        requested_bytes: None,
        end_requested_bytes: None,
        derived: false,
    }));
    let at_exit = snapshot(6_000_000, vec![row(0, Runtime, 512), row(1, Parameter, 4096)]);
    let lane = |name: &str, peak, at_peak, source: &str| OutsideFigure {
        name: name.into(),
        peak_bytes: peak,
        at_peak_bytes: at_peak,
        source: source.into(),
    };
    let high = |dimension, name: &str, live_bytes, time_ns, process_live_bytes| HighWater {
        dimension,
        name: name.into(),
        live_bytes,
        time_ns,
        process_live_bytes,
        requested_bytes: None,
    };
    for record in [
        Record::Peak(peak),
        Record::HighWaters(vec![
            high(Dimension::Phase, "forward", 10_240, 4_000_000, 16_000),
            high(Dimension::Layer, "conv1", 13_312, 4_000_000, 16_000),
        ]),
        Record::Totals(Totals {
            allocations: 7,
            frees: 5,
            allocated_bytes: 20_000,
            reallocations: 1,
            requested_bytes: None,
            by_scope: Vec::new(),
        }),
        Record::AtExit(at_exit),
        Record::Book(Book {
            time_ns: 4_500_000,
            live_bytes: 13_952,
            rss_bytes: 20_096,
            lines: [("tracked live", 13_952), ("allocator's own", 4096), ("libraries", 2100), ("unexplained", -52)]
                .map(|(name, bytes)| BookLine { name: name.into(), bytes, ..BookLine::default() })
                .into(),
            ..Book::default()
        }),
        Record::OutsideFigures(vec![
            lane("rss", Some(20_096), Some(20_000), "/proc/self/statm"),
            lane("gpu", None, None, "no NVIDIA driver on this machine"),
        ]),
        Record::Tracker(TrackerCost {
            overhead_bytes: Some(300),
            overhead: [("shadow map".to_owned(), 200), ("ledger".to_owned(), 100)].into(),
            ..Default::default()
        }),
        Record::End { time_ns: 6_000_000, ending: Ending::Finished },
    ] {
        assembler.apply(record);
    }
    assembler.timeline()
}

/// The same run as a newer recorder writes it: each sample has the columns of a coarse book. Together they are 4 bytes more
/// than the resident set less the live bytes, which is 4,096 in every sample.
pub(crate) fn with_coarse_columns(mut timeline: Timeline) -> Timeline {
    let samples = timeline.series.time_ns.len();
    let columns = [
        ("rss_allocator", 3000),
        ("rss_untouched", 500),
        ("rss_tracker", 300),
        ("rss_stacks", 200),
        ("rss_other", 100),
        ("rss_files", 1000),
    ];
    for (probe, bytes) in columns {
        timeline.series.probes.insert(probe.into(), vec![Some(bytes); samples]);
    }
    timeline
}

/// A fine book of 20,096 bytes, of which 13,952 are live: lines of very different size, one of them negative, one with
/// parts, and the account beyond, in which one number could not be read.
pub(crate) fn fine_book() -> Book {
    let lines = [
        ("requested by the program", 13_080),
        ("rounding to size classes", 872),
        ("slack inside slabs", 96),
        ("dirty pages", 3000),
        ("muzzy pages", 0),
        ("allocator's metadata", 1000),
        ("claimed but never touched", -400),
        ("tracker", 300),
        ("stacks", 200),
        ("pages of files", 2000),
        ("unexplained", -52),
    ];
    let beyond =
        |name: &str, bytes, total, source: &str| BeyondLine { name: name.into(), bytes, total, source: source.into() };
    let part = |name: &str, bytes| BookPart { name: name.into(), bytes };
    let mut book = Book {
        time_ns: 4_500_000,
        live_bytes: 13_952,
        rss_bytes: 20_096,
        lines: lines
            .map(|(name, bytes)| BookLine {
                name: name.into(),
                bytes,
                source: "an instrument".into(),
                parts: Vec::new(),
            })
            .into(),
        beyond: vec![
            beyond("RSS", Some(20_096), true, "/proc/self/statm"),
            beyond("shared with other processes", Some(-1096), false, "/proc/self/smaps_rollup"),
            beyond("PSS", Some(19_000), true, "/proc/self/smaps_rollup"),
            beyond("kernel memory", None, false, "memory.stat cannot be read"),
            beyond("memory.current", Some(25_000), true, "memory.current"),
            beyond("room until the limit", Some(75_000), false, "memory.max less memory.current"),
            beyond("memory.max", Some(100_000), true, "memory.max"),
        ],
    };
    book.lines[8].parts = vec![part("worker 12", 50), part("[stack]", 120), part("worker 13", 30)];
    book
}

/// The same run as one that used a device of which everything was measured, and another of which nothing was. At the peak
/// of the first one, conv1 has 8,192 bytes and layer1.0.bn1 has 4,096; they asked for 288 less.
pub(crate) fn with_device(mut timeline: Timeline) -> Timeline {
    let line = |name: &str, bytes, total| BeyondLine { name: name.into(), bytes, total, source: "the driver".into() };
    let rows = vec![row(2, Category::Activation, 8192), row(3, Category::Activation, 4096)];
    timeline.devices = vec![
        DeviceMemory {
            device: "cuda:0".into(),
            product: "a GPU".into(),
            allocations: Some(3),
            frees: Some(1),
            reserved_bytes: Some(2 << 20),
            peak: Some(snapshot(3_000_000, rows)),
            book_ns: Some(3_100_000),
            book: vec![
                line("requested", Some(12_000), true),
                line("rounding", Some(288), false),
                line("allocated", Some(12_288), true),
                line("cached", Some((2 << 20) - 12_288), false),
                line("reserved", Some(2 << 20), true),
                line("context and libraries", Some(300 << 20), false),
                line("NVML process", Some(302 << 20), true),
                BeyondLine { source: "unavailable: not told".into(), ..line("other processes", None, false) },
                line("device used", Some(410 << 20), true),
            ],
            source: "events of the caching allocator".into(),
        },
        DeviceMemory { device: "cuda:1".into(), source: "unavailable: a reason".into(), ..DeviceMemory::default() },
    ];
    timeline
}

/// The same run with the times of so many steps. Each has 600 us of convolution and 200 us of batch norm forward, 300 us of
/// convolution backward, and as many microseconds in no scope as its number says.
pub(crate) fn with_step_times(mut timeline: Timeline, steps: u64) -> Timeline {
    let step = |index: u64| StepTimes {
        first_step: index,
        last_step: index,
        wall_ns: 1_100_000 + 1_000 * index,
        stepping_thread: ScopeTimes::from_iter([
            (0, 1_000 * index, 0),
            (2, 600_000, 1),
            (3, 200_000, 1),
            (4, 300_000, 1),
        ]),
        other_threads: ScopeTimes::default(),
    };
    timeline.step_times = (1..=steps).map(step).collect();
    timeline
}
