//! The shadow map: from an address to the block's tag, in one small entry per 16 bytes of heap.
//!
//! ```text
//! address  0x7f12_3456_7890
//!            \____/\______/
//!            chunk  granule = (address mod 256 MiB) / 16
//!
//! CHUNKS[chunk] -> [u16; 16 Mi]   entries of that chunk, mapped on first use, resident where touched
//!          \----> [u16; 16 Mi]    the same for 8-byte blocks on the odd half of a granule, rarely mapped
//!
//! entries of a block at granule g:
//!   g     0                        not ours
//!         1 + scope                a block of at least 32 bytes
//!         0x8000 | tiny tag        a block of 8 or 16 bytes (see tiny.rs); nothing follows
//!   g+1   requested bytes          0 ..= 14,336
//!         WIDE (0x4000)            requested bytes follow, 16 bits an entry, in g+2 and g+3,
//!           | BEYOND (0x2000)      and in g+4 when they are 4 GiB or more
//!         | IDENTIFIED (0x8000)    the recorder knows this block by its address
//! ```
//!
//! An entry belongs to whoever owns the block: it is written after the allocator handed the block out and cleared
//! before the allocator gets it back, so no two threads write one entry at a time. All accesses are relaxed atomics;
//! the program's own hand-over of the block orders them.
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU16, Ordering};

use crate::sys;

const CHUNK_SHIFT: u32 = 28;
const ADDRESS_BITS: u32 = 48;
const CHUNK_COUNT: usize = 1 << (ADDRESS_BITS - CHUNK_SHIFT);
const CHUNK_ENTRIES: usize = 1 << (CHUNK_SHIFT - 4);

/// Set in the first entry of blocks of 8 and 16 bytes.
pub const TINY: u16 = 0x8000;
/// In the second entry: the requested size follows in further entries.
pub const WIDE: u16 = 0x4000;
/// With [`WIDE`]: the requested size is 4 GiB or more.
const BEYOND: u16 = 0x2000;
/// In the second entry: the recorder knows this block by its address.
pub const IDENTIFIED: u16 = 0x8000;

/// In the second entry, plus the requested size (at most 48): an alignment lifted the block into a larger class.
pub const LIFTED: u16 = 15_000;

type Chunks = [AtomicPtr<AtomicU16>; CHUNK_COUNT];

/// First the entries of blocks whose address is a multiple of 16, then those of 8-byte blocks whose address is not.
static TABLES: [Chunks; 2] = [const { [const { AtomicPtr::new(ptr::null_mut()) }; CHUNK_COUNT] }; 2];
const EVEN: usize = 0;

/// Where the entries of one block stand.
#[derive(Clone, Copy)]
pub struct Place(NonNull<AtomicU16>);

impl Place {
    /// The entry `offset` granules after the block's first. The block must reach that far.
    #[inline(always)]
    pub fn load(self, offset: usize) -> u16 {
        // SAFETY: a Place points into a mapped chunk of entries at a block's first granule, and the caller asks only
        // for granules that the block covers, which lie in the same chunk or in the spare entries behind it.
        unsafe { self.0.add(offset).as_ref() }.load(Ordering::Relaxed)
    }

    /// Writes the entry `offset` granules after the block's first. The block must reach that far.
    #[inline(always)]
    pub fn store(self, offset: usize, value: u16) {
        // SAFETY: as for `load`.
        unsafe { self.0.add(offset).as_ref() }.store(value, Ordering::Relaxed)
    }

    /// Writes `requested` in the wide form; `identified` as given. Needs a block of at least 64 bytes.
    pub fn store_wide(self, requested: usize, identified: bool) {
        let beyond = requested >> 32;
        let flags = if identified { IDENTIFIED } else { 0 } | if beyond != 0 { BEYOND } else { 0 };
        self.store(2, requested as u16);
        self.store(3, (requested >> 16) as u16);
        if beyond != 0 {
            self.store(4, beyond as u16);
        }
        self.store(1, WIDE | flags);
    }

    /// Reads what [`Place::store_wide`] wrote.
    pub fn load_wide(self) -> usize {
        let low = usize::from(self.load(2)) | usize::from(self.load(3)) << 16;
        if self.load(1) & BEYOND == 0 { low } else { low | usize::from(self.load(4)) << 32 }
    }
}

/// The entries of the block at `address`; `None` when no block near it was ever ours.
#[inline(always)]
pub fn find(address: usize) -> Option<Place> {
    find_in(&TABLES[(address >> 3) % 2], address)
}

/// The same, mapping the entries when they are not there yet. `None` when the kernel gives no memory.
#[inline(always)]
pub fn find_or_map(address: usize) -> Option<Place> {
    match find(address) {
        Some(place) => Some(place),
        None => map(address),
    }
}

/// The entries of the addresses `start..end`, in pieces that lie together, with the address of the first of each.
/// Blocks of 8 bytes on the odd half of a granule are left out.
pub fn entries(start: usize, end: usize) -> impl Iterator<Item = (usize, &'static [AtomicU16])> {
    let first = start >> CHUNK_SHIFT;
    (first..=end.saturating_sub(1) >> CHUNK_SHIFT).filter_map(move |chunk| {
        let entries = TABLES[EVEN].get(chunk)?.load(Ordering::Acquire);
        if entries.is_null() {
            return None;
        }
        let from = start.max(chunk << CHUNK_SHIFT);
        let to = end.min((chunk + 1) << CHUNK_SHIFT);
        let granule = (from >> 4) & (CHUNK_ENTRIES - 1);
        // SAFETY: the mapping has CHUNK_ENTRIES entries, `from` and `to` lie in this chunk, and it is never unmapped.
        Some((from, unsafe { std::slice::from_raw_parts(entries.add(granule), (to - from) >> 4) }))
    })
}

/// Requested bytes of the large block that an entry and those after it tell of; `None` when they tell of none. Reads
/// tags that other threads may be changing: good for a census, not for the block itself.
pub fn large(entries: &[AtomicU16]) -> Option<usize> {
    let [first, second, low, high, beyond, ..] = entries else { return None };
    let load = |entry: &AtomicU16| entry.load(Ordering::Relaxed);
    if load(first) == 0 || load(first) & TINY != 0 || load(second) & WIDE == 0 {
        return None;
    }
    let bytes = usize::from(load(low)) | usize::from(load(high)) << 16;
    Some(if load(second) & BEYOND == 0 { bytes } else { bytes | usize::from(load(beyond)) << 32 })
}

/// The addresses that the tables of chunks occupy.
pub fn range() -> (usize, usize) {
    let start = TABLES.as_ptr().addr();
    (start, start + size_of_val(&TABLES))
}

#[inline(always)]
fn find_in(table: &'static Chunks, address: usize) -> Option<Place> {
    // Addresses of programs are below the table's end; one that is not is nobody's block, and freeing it no program's
    // right. The mask spares a comparison.
    let entries = NonNull::new(table[(address >> CHUNK_SHIFT) % CHUNK_COUNT].load(Ordering::Acquire))?;
    let granule = (address >> 4) % CHUNK_ENTRIES;
    // SAFETY: `entries` is a mapping of CHUNK_ENTRIES entries (plus spare ones) and `granule` is below that.
    Some(Place(unsafe { entries.add(granule) }))
}

/// [`find`] for blocks that are known to lie at a multiple of 16.
#[inline(always)]
pub fn find_even(address: usize) -> Option<Place> {
    find_in(&TABLES[EVEN], address)
}

#[cold]
fn map(address: usize) -> Option<Place> {
    let chunk = &TABLES[(address >> 3) % 2][(address >> CHUNK_SHIFT) % CHUNK_COUNT];
    // A block at the very end of a chunk has entries behind it: one page of spare ones.
    let bytes = CHUNK_ENTRIES * 2 + 4096;
    let fresh = sys::map_zeroed(bytes).cast::<AtomicU16>();
    if fresh.is_null() {
        return None;
    }
    if chunk.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire).is_err() {
        sys::unmap(fresh.cast(), bytes);
    }
    find(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_sizes_come_back() {
        let block = vec![0u128; 64];
        let place = find_or_map(block.as_ptr().addr()).expect("a chunk of entries");
        for requested in [64, 80, 14_337, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0008, (1 << 47) + 12_345] {
            for identified in [false, true] {
                place.store_wide(requested, identified);
                assert_eq!(place.load_wide(), requested);
                assert_eq!(place.load(1) & IDENTIFIED != 0, identified);
                assert_ne!(place.load(1) & WIDE, 0);
            }
        }
        (0..5).for_each(|offset| place.store(offset, 0));
    }

    #[test]
    fn addresses_of_no_block_are_nobodys() {
        assert!(find(8).is_none_or(|place| place.load(0) == 0));
        assert!(find(usize::MAX & !15).is_none_or(|place| place.load(0) == 0));
    }
}
