//! Segments of device memory and the blocks that they are divided into.
use std::collections::{BTreeMap, BTreeSet};

/// The pools: requests of up to 1 MiB share segments, and larger ones do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    Small,
    Large,
}

/// A part of a segment, handed out or free. Blocks lie side by side; no two neighbours are both free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub bytes: u64,
    /// What the caller asked for; 0 in a free block.
    pub requested: u64,
    pub is_free: bool,
    /// The address of its segment's first byte.
    pub segment: u64,
    /// Its segment's pool.
    pub pool: Pool,
}

/// One piece of the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub pool: Pool,
    pub bytes: u64,
}

/// Between two segments the model leaves so much of the address space that each can grow ...
const SPACING: u64 = 1 << 44;
/// ... and the first of them lies behind all addresses that a device has, so that adopted ones are never in the way.
const FIRST: u64 = 1 << 48;

/// All segments, their blocks, and the free blocks of each pool by size. See the module's description.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    segments: BTreeMap<u64, Segment>,
    blocks: BTreeMap<u64, Block>,
    /// Sizes and addresses: the first that is large enough fits best.
    free: [BTreeSet<(u64, u64)>; 2],
    /// How many segments were ever made at addresses of the model's own.
    made: u64,
}

impl Segments {
    /// A new segment that is one free block, at `address` or, if that is `None`, where nothing else is. Returns its address.
    pub fn add(&mut self, pool: Pool, bytes: u64, address: Option<u64>) -> u64 {
        let address = address.unwrap_or_else(|| {
            self.made += 1;
            FIRST + self.made * SPACING
        });
        self.segments.insert(address, Segment { pool, bytes });
        self.insert(address, Block { bytes, requested: 0, is_free: true, segment: address, pool });
        address
    }

    /// Hands out the part of the free block around `address` that begins there. Whether there was such a block.
    pub fn carve(&mut self, address: u64, bytes: u64, requested: u64) -> bool {
        let before = self.blocks.range(..=address).next_back().map(|(&start, &block)| (start, block));
        let Some((start, block)) = before.filter(|(_, block)| block.is_free) else { return false };
        if address.saturating_add(bytes) > start + block.bytes {
            return false;
        }
        self.remove(start);
        let (end, behind) = (address + bytes, start + block.bytes - (address + bytes));
        self.insert(address, Block { bytes, requested, is_free: false, ..block });
        for (start, bytes) in [(start, address - start), (end, behind)].into_iter().filter(|&(_, bytes)| bytes > 0) {
            self.insert(start, Block { bytes, requested: 0, is_free: true, ..block });
        }
        true
    }

    /// Whether a segment begins at `address`.
    pub fn has(&self, address: u64) -> bool {
        self.segments.contains_key(&address)
    }

    /// Lets the pool's latest segment grow at its end by `bytes`; the pool's first segment is made where there is none.
    /// Returns the free block at the end.
    pub fn grow(&mut self, pool: Pool, bytes: u64) -> u64 {
        let Some(start) = self.latest(pool) else { return self.add(pool, bytes, None) };
        let Some(segment) = self.segments.get_mut(&start) else { return start };
        let end = start + segment.bytes;
        segment.bytes += bytes;
        self.insert_joined(end, Block { bytes, requested: 0, is_free: true, segment: start, pool })
    }

    /// The bytes of the free block at the end of the pool's latest segment.
    pub fn free_at_end(&self, pool: Pool) -> u64 {
        let latest = self.latest(pool).zip(self.latest(pool).and_then(|start| self.segments.get(&start)));
        let last = latest.and_then(|(start, segment)| self.blocks.range(start..start + segment.bytes).next_back());
        last.filter(|(_, block)| block.is_free).map_or(0, |(_, block)| block.bytes)
    }

    fn latest(&self, pool: Pool) -> Option<u64> {
        self.segments.iter().rev().find(|(_, segment)| segment.pool == pool).map(|(&start, _)| start)
    }

    /// The free blocks of a pool with at least `bytes`, the smallest first; of equal ones the lowest.
    pub fn fitting(&self, pool: Pool, bytes: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.free[pool as usize].range((bytes, 0)..).map(|&(size, address)| (address, size))
    }

    /// The bytes of the block at `address`; 0 when there is none.
    pub fn bytes_at(&self, address: u64) -> u64 {
        self.blocks.get(&address).map_or(0, |block| block.bytes)
    }

    /// Whether the block at `address` is the last of its segment.
    pub fn is_last(&self, address: u64) -> bool {
        let next = self.blocks.range(address + 1..).next();
        let segment = self.blocks.get(&address).map(|block| block.segment);
        next.map(|(_, block)| block.segment) != segment
    }

    /// Hands out the free block at `address`, or its first `bytes` if it is to be split. Returns the bytes handed out.
    pub fn take(&mut self, address: u64, bytes: u64, requested: u64, split: bool) -> u64 {
        let Some(here) = self.blocks.get_mut(&address) else { return 0 };
        let block = *here;
        let bytes = if split { bytes } else { block.bytes };
        *here = Block { bytes, requested, is_free: false, ..block };
        self.free[block.pool as usize].remove(&(block.bytes, address));
        if block.bytes > bytes {
            self.insert(address + bytes, Block { bytes: block.bytes - bytes, ..block });
        }
        bytes
    }

    /// Takes the block at `address` back. Returns what it was; `None` when none is handed out there.
    pub fn give_back(&mut self, address: u64) -> Option<Block> {
        let block = *self.blocks.get(&address).filter(|block| !block.is_free)?;
        self.insert_joined(address, Block { is_free: true, requested: 0, ..block });
        Some(block)
    }

    /// Gives the segments of which all is free back to the device. Returns their bytes.
    pub fn release(&mut self) -> u64 {
        let all: Vec<u64> = self.segments.keys().copied().collect();
        all.into_iter().map(|start| self.release_at(start)).sum()
    }

    /// Gives the segment at `start` back to the device if all of it is free. Returns its bytes, or 0.
    pub fn release_at(&mut self, start: u64) -> u64 {
        let bytes = self.segments.get(&start).map(|segment| segment.bytes);
        let whole = self.blocks.get(&start).filter(|block| block.is_free && Some(block.bytes) == bytes);
        if whole.is_none() {
            return 0;
        }
        self.segments.remove(&start);
        self.remove(start).map_or(0, |block| block.bytes)
    }

    /// How many segments there are.
    pub fn count(&self) -> usize {
        self.segments.len()
    }

    /// Puts a free block at `address`, in the place of what is there, and makes it one with its free neighbours. Returns where that begins.
    fn insert_joined(&mut self, address: u64, block: Block) -> u64 {
        let joins = |(_, other): &(&u64, &Block)| other.is_free && other.segment == block.segment;
        let place = |(&start, other): (&u64, &Block)| (start, other.bytes);
        let before = self.blocks.range(..address).next_back().filter(joins).map(place);
        let after = self.blocks.range(address + 1..).next().filter(joins).map(place);
        let mut joined = (address, block.bytes);
        if let Some((start, bytes)) = after {
            self.remove(start);
            joined.1 += bytes;
        }
        if let Some((start, bytes)) = before {
            self.blocks.remove(&address);
            self.free[block.pool as usize].remove(&(bytes, start));
            joined = (start, joined.1 + bytes);
        }
        self.insert(joined.0, Block { bytes: joined.1, ..block });
        joined.0
    }

    fn insert(&mut self, address: u64, block: Block) {
        if block.is_free {
            self.free[block.pool as usize].insert((block.bytes, address));
        }
        self.blocks.insert(address, block);
    }

    fn remove(&mut self, address: u64) -> Option<Block> {
        let block = self.blocks.remove(&address)?;
        if block.is_free {
            self.free[block.pool as usize].remove(&(block.bytes, address));
        }
        Some(block)
    }

    /// All segments with their addresses, and the blocks of each, in order.
    pub fn all(&self) -> impl Iterator<Item = (u64, Segment, Vec<Block>)> + '_ {
        self.segments.iter().map(|(&start, &segment)| {
            let blocks = self.blocks.range(start..start + segment.bytes);
            (start, segment, blocks.map(|(_, &block)| block).collect())
        })
    }
}
