//! The models of a device's memory that see each storage come and go.
use alloc_timeline::DevicePrediction;
use rustc_hash::FxHashMap;

use crate::caching_allocator::{CachingAllocator, DeviceBlock, Settings, SettingsError};

/// The settings that are always modelled: the defaults, and segments that grow.
const ALWAYS: [&str; 2] = ["", "expandable_segments:True"];

/// One model.
#[derive(Debug)]
struct Model {
    settings: String,
    allocator: CachingAllocator,
    /// The storages, by their address in the process.
    blocks: FxHashMap<u64, DeviceBlock>,
}

/// See the module's description.
#[derive(Debug)]
pub struct Devices {
    models: Vec<Model>,
}

impl Default for Devices {
    fn default() -> Self {
        let mut devices = Devices { models: Vec::new() };
        for settings in ALWAYS {
            // These texts are right: a test says so.
            let _ = devices.model(settings);
        }
        devices
    }
}

impl Devices {
    /// Adds a model with these settings, unless there is one.
    pub fn model(&mut self, settings: &str) -> Result<(), SettingsError> {
        let parsed = Settings::parse(settings)?;
        if self.models.iter().all(|model| model.settings != settings) {
            let (settings, allocator) = (settings.to_owned(), CachingAllocator::new(parsed));
            self.models.push(Model { settings, allocator, blocks: FxHashMap::default() });
        }
        Ok(())
    }

    /// A storage of `requested` bytes was allocated.
    pub fn allocated(&mut self, address: u64, requested: u64) {
        self.freed(address);
        for model in &mut self.models {
            // The device is large enough for everything.
            if let Ok(block) = model.allocator.allocate(requested) {
                model.blocks.insert(address, block);
            }
        }
    }

    /// The block at `address`, if it is a storage, is freed.
    pub fn freed(&mut self, address: u64) {
        for model in &mut self.models {
            if let Some(block) = model.blocks.remove(&address) {
                model.allocator.free(block);
            }
        }
    }

    /// What the models say; nothing when there was no storage.
    pub fn predictions(&self) -> Vec<DevicePrediction> {
        let predicted = |model: &Model| {
            let most = model.allocator.most();
            let segments = model.allocator.most_segments() as u64;
            (segments > 0).then(|| DevicePrediction {
                settings: model.settings.clone(),
                requested_bytes: most.requested_bytes,
                allocated_bytes: most.allocated_bytes,
                reserved_bytes: most.reserved_bytes,
                segments,
            })
        };
        self.models.iter().filter_map(predicted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn each_model_sees_each_storage_once() {
        let mut devices = Devices::default();
        assert_eq!((devices.models.len(), devices.predictions()), (2, Vec::new()));
        devices.model("max_split_size_mb:20").expect("settings");
        devices.model("max_split_size_mb:20").expect("settings");
        devices.allocated(0x1000, 11 * MIB);
        devices.allocated(0x2000, 11 * MIB);
        // The free of the first was dropped; its address is another storage's.
        devices.allocated(0x1000, 11 * MIB);
        devices.freed(0x2000);
        devices.freed(0x3000);
        // A block of 11 MiB leaves 1 MiB of its segment of 12, which only an expandable segment splits off.
        let told = |settings: &str, allocated_bytes, reserved_bytes, segments| DevicePrediction {
            settings: settings.to_owned(),
            requested_bytes: 22 * MIB,
            allocated_bytes,
            reserved_bytes,
            segments,
        };
        let expected = [
            told("", 24 * MIB, 24 * MIB, 2),
            told("expandable_segments:True", 22 * MIB, 40 * MIB, 1),
            told("max_split_size_mb:20", 24 * MIB, 24 * MIB, 2),
        ];
        assert_eq!(devices.predictions(), expected);
    }
}
