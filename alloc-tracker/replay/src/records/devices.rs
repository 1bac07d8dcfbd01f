//! The memory of devices, as the timeline has it.
use alloc_timeline::{DeviceMemory, SHARED_MEMORY, SharedMemory};

use super::rows;
use crate::device_blocks::{Device, DeviceBlocks};
use crate::scope::ScopeNames;

/// What the caching allocator of each device told.
pub fn device_memory(blocks: &DeviceBlocks, names: &dyn ScopeNames) -> Vec<DeviceMemory> {
    let memory = |device: &Device| DeviceMemory {
        device: names.text(device.name).to_owned(),
        allocations: Some(device.allocations),
        frees: Some(device.frees),
        reserved_bytes: Some(device.most_reserved),
        peak: Some(rows::snapshot_of_owners(device.at_peak(), device.peak().time_ns)),
        source: source(device),
        ..DeviceMemory::default()
    };
    blocks.devices().iter().filter(|device| names.text(device.name) != SHARED_MEMORY).map(memory).collect()
}

/// Tensors in shared memory, which are told of as a device's blocks are; `None` where nobody told of any.
pub fn shared_memory(blocks: &DeviceBlocks, names: &dyn ScopeNames) -> Option<SharedMemory> {
    let shared = blocks.devices().iter().find(|device| names.text(device.name) == SHARED_MEMORY)?;
    let peak = rows::snapshot_of_owners(shared.at_peak(), shared.peak().time_ns);
    Some(SharedMemory { mapped: shared.allocations, ended: shared.frees - shared.unknown_frees, peak })
}

/// Where the figures come from, and what is not in them.
fn source(device: &Device) -> String {
    let mut text = "events of the caching allocator".to_owned();
    let unknown = device.unknown_at_peak();
    if unknown > 0 {
        text += &format!("; {unknown} bytes at the peak were handed out before the recording, or without an event");
    }
    if device.unknown_frees > 0 {
        text += &format!("; {} frees were of such blocks", device.unknown_frees);
    }
    text
}
