//! What a run did with the memory of devices such as GPUs, with names in place of scopes' numbers.
use alloc_timeline::{BeyondLine, DeviceMemory};
use serde::Serialize;

use crate::analysis::splits::Splits;
use crate::model::Run;

/// The name of the outside figure that says what the driver told of GPUs.
const GPU_LANE: &str = "gpu";
/// The line of a device's book with the bytes that tensors asked for.
const REQUESTED: &str = "requested";
/// The line with the bytes of blocks that are handed out.
const ALLOCATED: &str = "allocated";

/// The memory of one device. The field names never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceFigures {
    /// As PyTorch calls it: `cuda:0`.
    pub device: String,
    /// The product; empty where the driver does not name it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub product: String,
    /// Blocks that the caching allocator handed out; null, like the others, where nothing told.
    pub allocations: Option<u64>,
    /// Blocks that it took back.
    pub frees: Option<u64>,
    /// The most bytes that it had in segments.
    pub reserved_bytes: Option<u64>,
    /// The instant at which the most bytes were handed out.
    pub peak: Option<DevicePeak>,
    /// When the book was read.
    pub book_ns: Option<u64>,
    /// From requested bytes to what is used of the device, in totals and steps.
    pub book: Vec<BeyondLine>,
    /// Where the figures come from, or why there are none.
    pub source: String,
}

/// The instant at which the most bytes of a device were handed out. Each split sums to `allocated_bytes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DevicePeak {
    /// When, since the session began.
    pub time_ns: u64,
    /// The bytes of all blocks.
    pub allocated_bytes: u64,
    /// The same bytes by phase, layer, operator and category.
    #[serde(flatten)]
    pub splits: Splits,
}

impl DeviceFigures {
    fn new(run: &Run, memory: &DeviceMemory) -> DeviceFigures {
        let peak = memory.peak.as_ref().map(|peak| DevicePeak {
            time_ns: peak.time_ns,
            allocated_bytes: peak.live_bytes,
            splits: Splits::new(peak, run.scopes()),
        });
        DeviceFigures {
            device: memory.device.clone(),
            product: memory.product.clone(),
            allocations: memory.allocations,
            frees: memory.frees,
            reserved_bytes: memory.reserved_bytes,
            peak,
            book_ns: memory.book_ns,
            book: memory.book.clone(),
            source: memory.source.clone(),
        }
    }

    /// The bytes that tensors had asked for when the most was handed out; absent where nothing told, and where the book was read at an instant at
    /// which less was handed out.
    pub fn requested_bytes(&self) -> Option<u64> {
        let total = |name: &str| {
            let line = self.book.iter().find(|line| line.total && line.name == name)?;
            u64::try_from(line.bytes?).ok()
        };
        let is_at_peak = total(ALLOCATED).is_some_and(|allocated| Some(allocated) == self.allocated_bytes());
        total(REQUESTED).filter(|_| is_at_peak)
    }

    /// The most bytes that were handed out; absent where nothing told.
    pub fn allocated_bytes(&self) -> Option<u64> {
        self.peak.as_ref().map(|peak| peak.allocated_bytes)
    }

    /// The layers of the peak with their bytes, the biggest first.
    pub fn layers(&self) -> Vec<(&str, u64)> {
        let layers = self.peak.iter().flat_map(|peak| &peak.splits.by_layer);
        let mut layers: Vec<(&str, u64)> = layers.map(|(name, bytes)| (name.as_str(), *bytes)).collect();
        layers.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        layers
    }
}

/// The devices that the run used.
pub fn devices(run: &Run) -> Vec<DeviceFigures> {
    run.timeline.devices.iter().map(|memory| DeviceFigures::new(run, memory)).collect()
}

/// Why there is no figure of any device, in words; `None` where there is one, and for a recorder that did not look for any.
pub fn no_device(run: &Run) -> Option<String> {
    let lane = run.lane(GPU_LANE).filter(|_| run.timeline.devices.is_empty())?;
    Some(match lane.peak_bytes {
        Some(_) => {
            "unavailable: no block of a device was seen, although the driver counts memory of this process".to_owned()
        }
        None => format!("unavailable: {}", lane.source.trim_start_matches("unavailable: ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::{tiny, with_device};

    #[test]
    fn a_device_has_the_names_of_its_scopes() {
        let run = Run::new("x", with_device(tiny()));
        let [measured, unknown] = devices(&run).try_into().expect("two devices");
        let peak = measured.peak.as_ref().expect("a peak");
        assert_eq!((peak.allocated_bytes, measured.requested_bytes()), (12_288, Some(12_000)));
        assert_eq!(measured.layers(), [("conv1", 8_192), ("layer1.0.bn1", 4_096)]);
        for split in peak.splits.all() {
            assert_eq!(split.values().sum::<u64>(), 12_288);
        }
        assert_eq!((unknown.allocated_bytes(), unknown.requested_bytes(), unknown.layers().len()), (None, None, 0));
        assert_eq!(no_device(&run), None);
    }

    #[test]
    fn without_a_device_there_is_a_reason() {
        let mut run = Run::new("x", tiny());
        assert_eq!(no_device(&run).as_deref(), Some("unavailable: no NVIDIA driver on this machine"));
        run.timeline.lanes.clear();
        assert_eq!(no_device(&run), None);
    }
}
