//! What a device had, and would have had, for the full timeline.
use alloc_timeline::{BeyondLine, Category, DeviceMemory, DevicePrediction, Row, Snapshot};

/// One block in one segment that grows.
pub fn prediction() -> DevicePrediction {
    DevicePrediction {
        settings: "expandable_segments:True".into(),
        requested_bytes: 100,
        allocated_bytes: 512,
        reserved_bytes: 2 << 20,
        segments: 1,
    }
}

/// A device whose driver was not asked about others, and one of which nothing is known.
pub fn devices() -> Vec<DeviceMemory> {
    let line = |name: &str, bytes, total| BeyondLine { name: name.into(), bytes, total, source: "a driver".into() };
    let row = Row { scope: 1, category: Category::Activation, usable_bytes: 512, requested_bytes: 512, blocks: 1 };
    let measured = DeviceMemory {
        device: "cuda:0".into(),
        product: "a GPU".into(),
        allocations: Some(2),
        frees: Some(1),
        reserved_bytes: Some(2 << 20),
        peak: Some(Snapshot { time_ns: 8, live_bytes: 512, requested_bytes: 512, slack_bytes: 0, rows: vec![row] }),
        book_ns: Some(9),
        book: vec![
            line("requested", Some(500), true),
            line("rounding", Some(12), false),
            line("allocated", Some(512), true),
            line("other processes", None, false),
        ],
        source: "events of the caching allocator".into(),
    };
    let unknown =
        DeviceMemory { device: "cuda:1".into(), source: "unavailable: a reason".into(), ..DeviceMemory::default() };
    vec![measured, unknown]
}
