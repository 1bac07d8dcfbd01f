//! The allocator itself: which free block serves a request, and when a new segment is made.
use std::fmt;

use super::segments::{Block, Pool, Segment, Segments};
use super::settings::{MIN_BLOCK, SMALL_REQUEST, SMALL_SEGMENT, Settings};

/// A block that the model has handed out: its address in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceBlock(u64);

impl DeviceBlock {
    /// Where the block begins; the model's own address, unless its segment has that of a real one.
    pub fn address(self) -> u64 {
        self.0
    }
}

/// One segment of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSegment {
    /// Where it begins; the model's own address, unless it was told a real one.
    pub address: u64,
    /// Whether it serves requests of up to 1 MiB.
    pub is_small: bool,
    /// Its size.
    pub bytes: u64,
    /// The bytes of its blocks that are handed out.
    pub allocated_bytes: u64,
}

/// How much memory is in use, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceFigures {
    /// What callers asked for.
    pub requested_bytes: u64,
    /// The blocks that are handed out: PyTorch's `memory_allocated`.
    pub allocated_bytes: u64,
    /// The segments: PyTorch's `memory_reserved`.
    pub reserved_bytes: u64,
}

/// The device has no room for a request, even after all free segments were given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// What the caller asked for, in bytes.
    pub requested_bytes: u64,
    /// What was reserved when it did, in bytes.
    pub reserved_bytes: u64,
    /// The device's memory, in bytes.
    pub capacity_bytes: u64,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfMemory { requested_bytes, reserved_bytes, capacity_bytes } = self;
        write!(f, "{requested_bytes} bytes do not fit: {reserved_bytes} of {capacity_bytes} bytes are reserved")
    }
}

impl std::error::Error for OutOfMemory {}

/// The model; see the module's description.
#[derive(Clone, Debug)]
pub struct CachingAllocator {
    settings: Settings,
    /// The device's memory, in bytes.
    capacity: u64,
    segments: Segments,
    now: DeviceFigures,
    /// The most of each figure, whenever that was.
    most: DeviceFigures,
    /// All figures when the most bytes were allocated; of equal peaks the latest.
    at_peak: DeviceFigures,
    most_segments: usize,
    /// Where the next segment is to begin.
    next_segment: Option<u64>,
}

impl CachingAllocator {
    /// An allocator that has reserved nothing, on a device that is large enough for everything.
    pub fn new(settings: Settings) -> Self {
        Self::with_capacity(settings, u64::MAX)
    }

    /// The same on a device of `capacity` bytes.
    pub fn with_capacity(settings: Settings, capacity: u64) -> Self {
        let (segments, now, most, at_peak, most_segments, next_segment) = Default::default();
        CachingAllocator { settings, capacity, segments, now, most, at_peak, most_segments, next_segment }
    }

    /// Takes over a real segment of `bytes` at `address`, all of it free. Its blocks follow by [`adopt`](Self::adopt).
    pub fn adopt_segment(&mut self, address: u64, is_small: bool, bytes: u64) {
        if self.segments.has(address) || bytes == 0 {
            return;
        }
        self.segments.add(if is_small { Pool::Small } else { Pool::Large }, bytes, Some(address));
        self.now.reserved_bytes += bytes;
        self.note_peaks();
    }

    /// Takes over a real block of `bytes` at `address` that is handed out; `None` when no adopted segment has room there.
    pub fn adopt(&mut self, address: u64, bytes: u64, requested: u64) -> Option<DeviceBlock> {
        let carved = bytes > 0 && self.segments.carve(address, bytes, requested);
        carved.then(|| {
            self.now.allocated_bytes += bytes;
            self.now.requested_bytes += requested;
            self.note_peaks();
            DeviceBlock(address)
        })
    }

    /// Where a segment is to begin if the next request makes one. Free blocks of one size serve in the order of their
    /// addresses, so a comparison with a real allocator needs its addresses.
    pub fn next_segment_at(&mut self, address: Option<u64>) {
        self.next_segment = address;
    }

    /// Gives the segment at `address` back to the device, if all of it is free. Whether it was.
    pub fn release_segment(&mut self, address: u64) -> bool {
        let bytes = self.segments.release_at(address);
        self.now.reserved_bytes -= bytes;
        bytes > 0
    }

    /// All segments of this moment, by address.
    pub fn segments_now(&self) -> Vec<DeviceSegment> {
        let figures = |(address, segment, blocks): (u64, Segment, Vec<Block>)| DeviceSegment {
            address,
            is_small: segment.pool == Pool::Small,
            bytes: segment.bytes,
            allocated_bytes: blocks.iter().filter(|block| !block.is_free).map(|block| block.bytes).sum(),
        };
        self.segments.all().map(figures).collect()
    }

    /// Hands out a block for `requested` bytes. As in PyTorch, a request of 0 bytes takes nothing.
    ///
    /// # Errors
    /// When the device has no room left.
    pub fn allocate(&mut self, requested: u64) -> Result<DeviceBlock, OutOfMemory> {
        if requested == 0 {
            return Ok(DeviceBlock(0));
        }
        let bytes = self.settings.block_bytes(requested);
        let pool = if bytes <= SMALL_REQUEST { Pool::Small } else { Pool::Large };
        let address = match self.best_fit(pool, bytes) {
            Some(address) => address,
            None => self.reserve(pool, bytes, requested)?,
        };
        let left = self.segments.bytes_at(address).saturating_sub(bytes);
        let split = self.is_split(pool, bytes, left);
        self.now.allocated_bytes += self.segments.take(address, bytes, requested, split);
        self.now.requested_bytes += requested;
        self.note_peaks();
        Ok(DeviceBlock(address))
    }

    /// Takes a block back. One that is not handed out is nobody's: nothing happens.
    pub fn free(&mut self, block: DeviceBlock) {
        if let Some(block) = self.segments.give_back(block.0) {
            self.now.allocated_bytes -= block.bytes;
            self.now.requested_bytes -= block.requested;
        }
    }

    /// Gives the segments of which nothing is handed out back to the device, as `torch.cuda.empty_cache` does. The model
    /// gives back no part of an expandable segment.
    pub fn empty_cache(&mut self) {
        self.now.reserved_bytes -= self.segments.release();
    }

    /// What is in use now.
    pub fn now(&self) -> DeviceFigures {
        self.now
    }

    /// The most of each figure so far, whenever that was: PyTorch's `max_memory_allocated` and `max_memory_reserved`.
    pub fn most(&self) -> DeviceFigures {
        self.most
    }

    /// What was in use when the most bytes were allocated.
    pub fn at_peak(&self) -> DeviceFigures {
        self.at_peak
    }

    /// The most segments at once.
    pub fn most_segments(&self) -> usize {
        self.most_segments
    }

    /// The free block that serves a request of `bytes`.
    fn best_fit(&self, pool: Pool, bytes: u64) -> Option<u64> {
        let Settings { max_split_bytes, max_unsplit_excess_bytes, expandable_segments, .. } = self.settings;
        let mut fitting = self.segments.fitting(pool, bytes);
        let (mut address, mut size) = fitting.next()?;
        if expandable_segments && self.segments.is_last(address) {
            // The block at the end counts as large as it can grow, so that any other one that fits is better.
            (address, size) = fitting.next().unwrap_or((address, size));
        }
        let may_not_be_split = size >= max_split_bytes;
        let too_large = if bytes < max_split_bytes {
            may_not_be_split
        } else {
            size >= bytes.saturating_add(max_unsplit_excess_bytes)
        };
        (!too_large).then_some(address)
    }

    /// Whether what is left of a free block becomes a block of its own.
    fn is_split(&self, pool: Pool, bytes: u64, left: u64) -> bool {
        if pool == Pool::Small || self.settings.expandable_segments {
            left >= MIN_BLOCK
        } else {
            bytes < self.settings.max_split_bytes && left > SMALL_REQUEST
        }
    }

    /// Gets memory from the device; returns the free block that has room for `bytes` now.
    fn reserve(&mut self, pool: Pool, bytes: u64, requested: u64) -> Result<u64, OutOfMemory> {
        if self.needed(pool, bytes) > self.capacity.saturating_sub(self.now.reserved_bytes) {
            self.empty_cache();
        }
        let needed = self.needed(pool, bytes);
        let (capacity_bytes, reserved_bytes) = (self.capacity, self.now.reserved_bytes);
        if needed > capacity_bytes.saturating_sub(reserved_bytes) {
            return Err(OutOfMemory { requested_bytes: requested, reserved_bytes, capacity_bytes });
        }
        self.now.reserved_bytes += needed;
        let expandable = self.settings.expandable_segments;
        let at = self.next_segment.take().filter(|&address| !self.segments.has(address));
        Ok(if expandable { self.segments.grow(pool, needed) } else { self.segments.add(pool, needed, at) })
    }

    /// How many bytes of the device a block of `bytes` needs when no free block serves.
    fn needed(&self, pool: Pool, bytes: u64) -> u64 {
        if !self.settings.expandable_segments {
            return self.settings.segment_bytes(bytes);
        }
        let granule = if pool == Pool::Small { SMALL_SEGMENT } else { self.settings.large_segment_bytes };
        bytes.saturating_sub(self.segments.free_at_end(pool)).next_multiple_of(granule)
    }

    fn note_peaks(&mut self) {
        let (now, most) = (self.now, &mut self.most);
        if now.allocated_bytes >= most.allocated_bytes {
            self.at_peak = now;
        }
        most.requested_bytes = most.requested_bytes.max(now.requested_bytes);
        most.allocated_bytes = most.allocated_bytes.max(now.allocated_bytes);
        most.reserved_bytes = most.reserved_bytes.max(now.reserved_bytes);
        self.most_segments = self.most_segments.max(self.segments.count());
    }

    #[cfg(test)]
    pub(super) fn segments(&self) -> &Segments {
        &self.segments
    }
}
