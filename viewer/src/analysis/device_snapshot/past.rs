//! What a device's allocator held before the trace began: the state at the snapshot, with the trace undone.
use std::collections::{BTreeMap, BTreeSet};

use alloc_replay::caching_allocator::Settings;

use crate::model::{DeviceSnapshot, PoolId, TraceEntry};

/// What is left of a block of a large segment is split off if it is more than this.
const LEAST_SPLIT: u64 = 1 << 20;

/// Which free blocks serve one another: those of one stream in one pool.
pub type Key = (u64, PoolId);

/// A segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastSegment {
    pub key: Key,
    pub is_small: bool,
    pub bytes: u64,
}

/// A block in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastBlock {
    pub bytes: u64,
    pub requested: u64,
}

/// Segments and blocks in use by their address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    pub segments: BTreeMap<u64, PastSegment>,
    pub blocks: BTreeMap<u64, PastBlock>,
}

impl Past {
    /// The state at the snapshot.
    pub fn at_snapshot(snapshot: &DeviceSnapshot, device: usize) -> Past {
        let mut past = Past::default();
        for segment in snapshot.segments.iter().filter(|segment| segment.device == device) {
            let key = (segment.stream, segment.segment_pool_id);
            let (is_small, bytes) = (segment.is_small(), segment.total_size);
            past.segments.insert(segment.address, PastSegment { key, is_small, bytes });
            past.blocks.extend(
                segment.in_use().map(|(address, block)| {
                    (address, PastBlock { bytes: block.size, requested: block.requested_size })
                }),
            );
        }
        past
    }

    /// The same before the trace. Of a block that was freed meanwhile the trace says what was requested; its size is what
    /// `settings` make of that, and the rest of a free block that was too little to be split off.
    pub fn before(mut self, trace: &[TraceEntry], settings: &Settings) -> Past {
        let mut freed = BTreeSet::new();
        for entry in trace.iter().rev() {
            let TraceEntry { addr, size, stream, .. } = *entry;
            match entry.action.as_str() {
                "alloc" => {
                    self.blocks.remove(&addr);
                    freed.remove(&addr);
                }
                "free_completed" => {
                    let block = PastBlock { bytes: settings.block_bytes(size), requested: size };
                    self.blocks.insert(addr, block);
                    freed.insert(addr);
                }
                "segment_alloc" => {
                    self.segments.remove(&addr);
                }
                "segment_free" => {
                    // A small segment has the one size that a large one never has.
                    let is_small = size == settings.segment_bytes(1);
                    self.segments.insert(addr, PastSegment { key: (stream, (0, 0)), is_small, bytes: size });
                }
                _ => {}
            }
        }
        freed.into_iter().for_each(|address| self.fill_gap_behind(address));
        self
    }

    /// A free block of a large segment has more than 1 MiB: what is smaller belongs to the block before it.
    fn fill_gap_behind(&mut self, address: u64) {
        let Some((start, segment)) = self.segment_of(address).filter(|(_, segment)| !segment.is_small) else { return };
        let end = self.blocks.range(address + 1..).next().map_or(u64::MAX, |(&next, _)| next);
        let end = end.min(start + segment.bytes);
        if let Some(block) = self.blocks.get_mut(&address)
            && end.saturating_sub(address + block.bytes) <= LEAST_SPLIT
        {
            block.bytes = end.saturating_sub(address).max(block.bytes);
        }
    }

    /// The segment around `address`, with its own address.
    pub fn segment_of(&self, address: u64) -> Option<(u64, PastSegment)> {
        let (&start, &segment) = self.segments.range(..=address).next_back()?;
        (address < start + segment.bytes).then_some((start, segment))
    }

    /// All segments together, in bytes.
    pub fn reserved_bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.bytes).sum()
    }
}
