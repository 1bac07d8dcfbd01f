//! The model of PyTorch's caching allocator beside a real one: the requests and frees of a snapshot's trace drive the
//! model, and what it reserves stands beside what the snapshot says, segment by segment.
//!
//! The model begins in the state that the real allocator had when the trace began. From there on it decides alone which
//! free block serves and when a segment is made. It is told two things beside requests and frees: where a new segment lies,
//! because of two free blocks of one size the lower one serves, and which segments were given back, because the program asks for
//! that (`empty_cache`).
mod past;

mod models;

use std::collections::{BTreeMap, BTreeSet};

use alloc_replay::caching_allocator::{Settings, SettingsError};
use serde::Serialize;

use crate::model::{DeviceSnapshot, SnapshotSegment};
use models::Models;
use past::Past;

/// One figure, as PyTorch has it and as the model has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// In the snapshot.
    pub measured: u64,
    /// In the model.
    pub predicted: u64,
}

/// The first request that the model served otherwise than PyTorch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstDifference {
    /// The entry of the device's trace, counted from 0.
    pub entry: usize,
    /// What was requested, in bytes.
    pub requested_bytes: u64,
    /// The segment that was made for it, in bytes; 0 where a free block served.
    pub new_segment_bytes: Compared,
}

/// Segments of one size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SegmentSizes {
    /// Whether they serve requests of up to 1 MiB.
    pub is_small: bool,
    /// The size of each.
    pub bytes: u64,
    /// How many there are.
    pub count: Compared,
    /// How many are in both at the same address, with as many bytes in use.
    pub identical: u64,
}

/// The comparison for one device. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceComparison {
    /// The number of the device.
    pub device: usize,
    /// The allocator's settings, as in `PYTORCH_ALLOC_CONF`.
    pub settings: String,
    /// How many entries the trace has.
    pub trace_entries: usize,
    /// Blocks that were in use when the trace began, and their bytes.
    pub older_blocks: usize,
    /// See `older_blocks`.
    pub older_bytes: u64,
    /// Requests in the trace.
    pub requests: u64,
    /// How many of them the model served with a block at the same address.
    pub same_address: u64,
    /// Where the model first left PyTorch's way, in making a segment or in making none.
    pub first_difference: Option<FirstDifference>,
    /// When the snapshot was taken: what the program asked for.
    pub requested_bytes: Compared,
    /// The blocks in use.
    pub allocated_bytes: Compared,
    /// The segments.
    pub reserved_bytes: Compared,
    /// The most reserved bytes since the trace began.
    pub peak_reserved_bytes: Compared,
    /// The segments by size when the snapshot was taken, the smallest first.
    pub segments: Vec<SegmentSizes>,
    /// What the comparison could not follow.
    pub notes: Vec<String>,
}

/// Compares all devices of which the snapshot has segments or a trace.
///
/// # Errors
/// When the snapshot's settings cannot be read.
pub fn compare_snapshot(snapshot: &DeviceSnapshot) -> Result<Vec<DeviceComparison>, SettingsError> {
    let settings = Settings::parse(snapshot.allocator_settings.text())?;
    let traces = snapshot.device_traces.iter().enumerate();
    let traced = traces.filter(|(_, trace)| !trace.is_empty()).map(|(device, _)| device);
    let devices: BTreeSet<usize> = snapshot.segments.iter().map(|segment| segment.device).chain(traced).collect();
    Ok(devices.into_iter().map(|device| compare_device(snapshot, device, &settings)).collect())
}

fn compare_device(snapshot: &DeviceSnapshot, device: usize, settings: &Settings) -> DeviceComparison {
    let trace = snapshot.device_traces.get(device).map_or(&[][..], Vec::as_slice);
    let last = Past::at_snapshot(snapshot, device);
    let past = last.clone().before(trace, settings);
    let mut models = Models::new(settings.clone(), &past);
    let mut told = DeviceComparison {
        device,
        settings: snapshot.allocator_settings.text().to_owned(),
        trace_entries: trace.len(),
        older_blocks: past.blocks.len(),
        older_bytes: past.blocks.values().map(|block| block.bytes).sum(),
        ..DeviceComparison::default()
    };
    let mut reserved = past.reserved_bytes();
    let mut peak = Compared { measured: reserved, predicted: models.now().reserved_bytes };
    // The segment that was made for the next request: its address and size.
    let mut made: Option<(u64, u64)> = None;
    let (mut kept, mut mapped) = (0, 0);
    for (entry, event) in trace.iter().enumerate() {
        match event.action.as_str() {
            "segment_alloc" => {
                reserved += event.size;
                made = Some((event.addr, event.size));
            }
            "segment_map" => {
                (reserved, mapped) = (reserved + event.size, mapped + 1);
                made = Some((event.addr, made.map_or(0, |(_, bytes)| bytes) + event.size));
            }
            "segment_free" => {
                reserved = reserved.saturating_sub(event.size);
                kept += usize::from(!models.release(event.addr));
            }
            "segment_unmap" => (reserved, mapped) = (reserved.saturating_sub(event.size), mapped + 1),
            "alloc" => {
                let made = made.take();
                let pool = last.segment_of(event.addr).map_or((0, 0), |(_, segment)| segment.key.1);
                let key = (event.stream, pool);
                let served = models.allocate(key, event.addr, event.size, made.map(|(address, _)| address));
                let Some(served) = served else { continue };
                told.requests += 1;
                told.same_address += u64::from(served.address == event.addr);
                let new_segment_bytes =
                    Compared { measured: made.map_or(0, |(_, bytes)| bytes), predicted: served.new_segment_bytes };
                if new_segment_bytes.measured != new_segment_bytes.predicted && told.first_difference.is_none() {
                    let requested_bytes = event.size;
                    told.first_difference = Some(FirstDifference { entry, requested_bytes, new_segment_bytes });
                }
            }
            "free_completed" => models.free(event.addr),
            _ => {}
        }
        peak.measured = peak.measured.max(reserved);
        peak.predicted = peak.predicted.max(models.now().reserved_bytes);
    }
    let now = models.now();
    let own = || snapshot.segments.iter().filter(|segment| segment.device == device);
    let sum = |of: fn(&SnapshotSegment) -> u64| own().map(of).sum();
    let requested = sum(|segment| segment.in_use().map(|(_, block)| block.requested_size).sum());
    told.requested_bytes = Compared { measured: requested, predicted: now.requested_bytes };
    told.allocated_bytes = Compared { measured: sum(used), predicted: now.allocated_bytes };
    told.reserved_bytes = Compared { measured: sum(|segment| segment.total_size), predicted: now.reserved_bytes };
    told.peak_reserved_bytes = peak;
    told.segments = sizes(own(), &models);
    told.notes = notes(trace.is_empty(), kept, mapped, own());
    told
}

/// The bytes of a segment's blocks in use.
fn used(segment: &SnapshotSegment) -> u64 {
    segment.in_use().map(|(_, block)| block.size).sum()
}

fn sizes<'a>(measured: impl Iterator<Item = &'a SnapshotSegment>, models: &Models) -> Vec<SegmentSizes> {
    let predicted = models.segments();
    let mut rows: BTreeMap<(u64, bool), SegmentSizes> = BTreeMap::new();
    let mut row = |bytes: u64, is_small: bool, add: &dyn Fn(&mut SegmentSizes)| {
        let empty = SegmentSizes { is_small, bytes, ..SegmentSizes::default() };
        add(rows.entry((bytes, !is_small)).or_insert(empty));
    };
    for segment in measured {
        let same = predicted.get(&segment.address).is_some_and(|other| {
            (other.bytes, other.allocated_bytes, other.is_small)
                == (segment.total_size, used(segment), segment.is_small())
        });
        row(segment.total_size, segment.is_small(), &|row| {
            row.count.measured += 1;
            row.identical += u64::from(same);
        });
    }
    for segment in predicted.values() {
        row(segment.bytes, segment.is_small, &|row| row.count.predicted += 1);
    }
    rows.into_values().collect()
}

fn notes<'a>(
    no_trace: bool,
    kept: usize,
    mapped: usize,
    mut segments: impl Iterator<Item = &'a SnapshotSegment>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if no_trace {
        notes.push("the snapshot has no trace: record one with torch.cuda.memory._record_memory_history()".to_owned());
    }
    if kept > 0 {
        notes.push(format!("{kept} segments were given back that the model still uses, or never made at that address"));
    }
    if mapped > 0 || segments.any(|segment| segment.is_expandable) {
        notes.push(format!(
            "segments that grow are made anew in the model, at addresses of its own: addresses say nothing here \
             ({mapped} pieces were mapped or unmapped)"
        ));
    }
    notes
}

#[cfg(test)]
mod tests;
