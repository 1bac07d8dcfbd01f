//! Snapshots made by hand, with answers worked out from the rules that the allocator's source states.
use super::*;
use crate::model::{SnapshotBlock, SnapshotSettings, TraceEntry};

const MIB: u64 = 1 << 20;
/// Addresses of a device.
const A: u64 = 0x7f00_0000_0000;
const B: u64 = 0x7e00_0000_0000;

fn entry(action: &str, addr: u64, size: u64) -> TraceEntry {
    TraceEntry { action: action.to_owned(), addr, size, stream: 0 }
}

fn block(size: u64, requested_size: u64, state: &str) -> SnapshotBlock {
    SnapshotBlock { size, requested_size, state: state.to_owned() }
}

fn segment(address: u64, segment_type: &str, blocks: Vec<SnapshotBlock>) -> SnapshotSegment {
    let total_size = blocks.iter().map(|block| block.size).sum();
    SnapshotSegment { address, total_size, segment_type: segment_type.to_owned(), blocks, ..SnapshotSegment::default() }
}

/// Before the trace: a segment of 20 MiB with 8 in use. Then 7 MiB come out of it; 12 MiB get a segment of their own and go
/// again; 100 bytes get a small segment.
fn snapshot() -> DeviceSnapshot {
    let large = vec![
        block(8 * MIB, 8 * MIB - 5, "active_allocated"),
        block(7 * MIB, 7 * MIB, "active_allocated"),
        block(5 * MIB, 0, "inactive"),
    ];
    let small = vec![block(512, 100, "active_allocated"), block(2 * MIB - 512, 0, "inactive")];
    let trace = vec![
        entry("alloc", A + 8 * MIB, 7 * MIB),
        entry("segment_alloc", B, 12 * MIB),
        entry("alloc", B, 12 * MIB),
        entry("free_requested", B, 12 * MIB),
        entry("free_completed", B, 12 * MIB),
        entry("segment_free", B, 12 * MIB),
        entry("segment_alloc", A + 20 * MIB, 2 * MIB),
        entry("alloc", A + 20 * MIB, 100),
        entry("snapshot", 0, 0),
    ];
    DeviceSnapshot {
        segments: vec![segment(A, "large", large), segment(A + 20 * MIB, "small", small)],
        device_traces: vec![trace],
        allocator_settings: SnapshotSettings::default(),
    }
}

fn both(bytes: u64) -> Compared {
    Compared { measured: bytes, predicted: bytes }
}

fn one(snapshot: &DeviceSnapshot) -> DeviceComparison {
    let mut all = compare_snapshot(snapshot).expect("settings");
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn a_trace_that_follows_the_rules_is_predicted_to_the_byte() {
    let told = one(&snapshot());
    let sizes = |is_small, bytes| SegmentSizes { is_small, bytes, count: both(1), identical: 1 };
    let expected = DeviceComparison {
        trace_entries: 9,
        older_blocks: 1,
        older_bytes: 8 * MIB,
        requests: 3,
        same_address: 3,
        requested_bytes: both(15 * MIB - 5 + 100),
        allocated_bytes: both(15 * MIB + 512),
        reserved_bytes: both(22 * MIB),
        peak_reserved_bytes: both(32 * MIB),
        segments: vec![sizes(true, 2 * MIB), sizes(false, 20 * MIB)],
        ..DeviceComparison::default()
    };
    assert_eq!(told, expected);
}

/// PyTorch made a segment for 7 MiB although 12 were free, as it does when another stream or pool has them: the model does
/// not, and has 20 MiB less.
#[test]
fn a_mismatch_is_shown_with_its_place() {
    let mut snapshot = snapshot();
    snapshot.device_traces[0][0].addr = B;
    snapshot.device_traces[0].insert(0, entry("segment_alloc", B, 20 * MIB));
    snapshot.device_traces[0].drain(2..7);
    let made = vec![block(7 * MIB, 7 * MIB, "active_allocated"), block(13 * MIB, 0, "inactive")];
    let rest = vec![block(8 * MIB, 8 * MIB, "active_allocated"), block(12 * MIB, 0, "inactive")];
    snapshot.segments[0] = segment(A, "large", rest);
    snapshot.segments.push(segment(B, "large", made));
    let told = one(&snapshot);
    let new_segment_bytes = Compared { measured: 20 * MIB, predicted: 0 };
    let first = FirstDifference { entry: 1, requested_bytes: 7 * MIB, new_segment_bytes };
    assert_eq!(told.first_difference, Some(first));
    assert_eq!(told.reserved_bytes, Compared { measured: 42 * MIB, predicted: 22 * MIB });
    assert_eq!((told.requests, told.same_address), (2, 1));
    let large =
        SegmentSizes { is_small: false, bytes: 20 * MIB, count: Compared { measured: 2, predicted: 1 }, identical: 0 };
    assert_eq!(told.segments[1], large, "the model has 7 MiB more in the first one");
}

/// A free block of another stream does not serve: both make a segment.
#[test]
fn streams_and_pools_do_not_share() {
    let mut snapshot = snapshot();
    let mut other =
        segment(B, "large", vec![block(7 * MIB, 7 * MIB, "active_allocated"), block(13 * MIB, 0, "inactive")]);
    other.stream = 9;
    let mut pool = segment(B + 64 * MIB, "large", vec![block(20 * MIB, 3 * MIB, "inactive")]);
    pool.segment_pool_id = (0, 1);
    snapshot.segments.extend([other, pool]);
    let mut trace = vec![entry("segment_alloc", B, 20 * MIB), entry("alloc", B, 7 * MIB)];
    trace[1].stream = 9;
    // 3 MiB would fit best into the 5 that are left of the first segment, but are the other pool's.
    trace.extend([entry("alloc", B + 64 * MIB, 3 * MIB), entry("free_completed", B + 64 * MIB, 3 * MIB)]);
    snapshot.device_traces[0].extend(trace);
    let told = one(&snapshot);
    assert_eq!((told.requests, told.same_address, told.first_difference), (5, 5, None));
    assert_eq!(told.reserved_bytes, both(62 * MIB));
}

/// A block from before the trace was freed in it: 11.5 MiB were asked for, and it had all 12 of its segment. So 12 MiB fit into
/// it afterwards.
#[test]
fn an_older_block_has_what_was_too_little_to_be_split_off() {
    let trace = vec![entry("free_completed", A, 23 * MIB / 2), entry("alloc", A, 12 * MIB)];
    let last = segment(A, "large", vec![block(12 * MIB, 12 * MIB, "active_allocated")]);
    let snapshot = DeviceSnapshot { segments: vec![last], device_traces: vec![trace], ..DeviceSnapshot::default() };
    let told = one(&snapshot);
    assert_eq!((told.older_blocks, told.older_bytes, told.same_address), (1, 12 * MIB, 1));
    assert_eq!(told.reserved_bytes, both(12 * MIB));
}

#[test]
fn what_cannot_be_followed_is_said() {
    let mut snapshot = snapshot();
    snapshot.device_traces.clear();
    let told = one(&snapshot);
    assert_eq!((told.reserved_bytes, told.requests), (both(22 * MIB), 0));
    assert!(told.notes[0].starts_with("the snapshot has no trace"), "{:?}", told.notes);
    snapshot.segments[0].is_expandable = true;
    assert!(one(&snapshot).notes[1].starts_with("segments that grow"), "{:?}", one(&snapshot).notes);
    snapshot.allocator_settings = SnapshotSettings::new("max_split_size_mb:x");
    assert!(compare_snapshot(&snapshot).is_err());
    assert_eq!(compare_snapshot(&DeviceSnapshot::default()).expect("settings"), Vec::new());
}
