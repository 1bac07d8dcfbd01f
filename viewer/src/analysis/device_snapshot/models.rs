//! Models of the caching allocator that take the trace of a snapshot: one for each stream and pool, as PyTorch keeps the
//! free blocks of these apart.
use std::collections::BTreeMap;

use alloc_replay::caching_allocator::{CachingAllocator, DeviceBlock, DeviceFigures, DeviceSegment, Settings};

use super::past::{Key, Past};

/// The models, and which of their blocks stands for which of the trace.
#[derive(Debug)]
pub struct Models {
    settings: Settings,
    by_key: BTreeMap<Key, CachingAllocator>,
    blocks: BTreeMap<u64, (Key, DeviceBlock)>,
}

/// What a model did for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Where its block is.
    pub address: u64,
    /// The segment that it made for it, in bytes; 0 when a free block served.
    pub new_segment_bytes: u64,
}

impl Models {
    /// Models in the state `past`, as far as that can be taken over.
    pub fn new(settings: Settings, past: &Past) -> Models {
        let mut models = Models { settings, by_key: BTreeMap::new(), blocks: BTreeMap::new() };
        // Segments that grow are made anew: how far they had grown is not in the trace.
        let expandable = models.settings.expandable_segments;
        for (&address, segment) in past.segments.iter().filter(|_| !expandable) {
            models.of(segment.key).adopt_segment(address, segment.is_small, segment.bytes);
        }
        for (&address, block) in &past.blocks {
            let key = past.segment_of(address).map_or((0, (0, 0)), |(_, segment)| segment.key);
            let model = models.of(key);
            let own = model.adopt(address, block.bytes, block.requested);
            let own = own.or_else(|| model.allocate(block.requested).ok());
            models.blocks.extend(own.map(|own| (address, (key, own))));
        }
        models
    }

    fn of(&mut self, key: Key) -> &mut CachingAllocator {
        self.by_key.entry(key).or_insert_with(|| CachingAllocator::new(self.settings.clone()))
    }

    /// A request of `requested` bytes, for which PyTorch has handed out the block at `address`, after it made a segment at
    /// `segment` or none.
    pub fn allocate(&mut self, key: Key, address: u64, requested: u64, segment: Option<u64>) -> Option<Served> {
        let model = self.of(key);
        model.next_segment_at(segment);
        let before = model.now().reserved_bytes;
        // The models' device is large enough for everything.
        let block = model.allocate(requested).ok()?;
        model.next_segment_at(None);
        let new_segment_bytes = model.now().reserved_bytes - before;
        self.blocks.insert(address, (key, block));
        Some(Served { address: block.address(), new_segment_bytes })
    }

    /// The block that PyTorch has at `address` is free.
    pub fn free(&mut self, address: u64) {
        if let Some((key, block)) = self.blocks.remove(&address) {
            self.of(key).free(block);
        }
    }

    /// PyTorch gives its segment at `address` back. Whether a model could do the same.
    pub fn release(&mut self, address: u64) -> bool {
        self.by_key.values_mut().any(|model| model.release_segment(address))
    }

    /// All models together.
    pub fn now(&self) -> DeviceFigures {
        self.by_key.values().map(CachingAllocator::now).fold(DeviceFigures::default(), |sum, now| DeviceFigures {
            requested_bytes: sum.requested_bytes + now.requested_bytes,
            allocated_bytes: sum.allocated_bytes + now.allocated_bytes,
            reserved_bytes: sum.reserved_bytes + now.reserved_bytes,
        })
    }

    /// The segments of all models, by address.
    pub fn segments(&self) -> BTreeMap<u64, DeviceSegment> {
        let all = self.by_key.values().flat_map(CachingAllocator::segments_now);
        all.map(|segment| (segment.address, segment)).collect()
    }
}
