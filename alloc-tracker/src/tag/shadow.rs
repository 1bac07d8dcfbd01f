//! The shadow map: from an address to the block's tag, in small entries for granules of the heap.
//!
//! Large blocks (16 KiB and more) have their tags in a layer with an entry for every 4 KiB, so that a block costs a few bytes.
//! Plain blocks of more than [`SHORT_MAX`] requested bytes, which are at least 128 bytes long, have their tags in a layer of
//! their own with an entry for every 64 bytes if they come through Rust's door, where a free tells their size; all others in
//! one with an entry for every 16. What costs time is how many cache lines the tags fill. (jemalloc keeps blocks of one size
//! together, so that no granule of 64 bytes is shared.) A plain block has its tag in one of the two, and nothing in the other.
//!
//! ```text
//! entries of a block at granule g:
//!   g     0                        not ours
//!         1 + scope                a plain block: g+1 holds its requested bytes, 17 ..= 14,336
//!         0x8000 | tiny tag        a block of 16 bytes or fewer (see tiny.rs); nothing follows
//!         WIDE                     any other; it is at least 64 bytes long, and there follow:
//!   g+1   scope                      | IDENTIFIED (0x8000) when the recorder knows it by its address
//!   g+2   requested bytes, low 16 bits
//!   g+3   requested bytes, the next 16 bits
//!   g+4   and the next, in blocks whose first entry is BEYOND instead of WIDE
//! ```
//!
//! An entry belongs to whoever owns the block: it is written after the allocator handed the block out and cleared
//! before the allocator gets it back, so no two threads write one entry at a time, and an address at which no live block
//! starts never looks like one of ours. All accesses are relaxed atomics; the program's own hand-over of the block orders
//! them.
use std::sync::atomic::{AtomicU16, Ordering};

use super::chunks::{Chunks, table};
use super::scope::{MAX_SCOPES, ScopeId};

/// Set in the first entry of tiny blocks.
pub const TINY: u16 = 0x8000;
/// The first entry of blocks whose scope and size stand in the next three entries.
const WIDE: u16 = 0x7fff;
/// The same with a fourth, for requests of 4 GiB and more.
const BEYOND: u16 = 0x7ffe;
/// With the scope of a wide block: the recorder knows it by its address.
const IDENTIFIED: u16 = 0x8000;
const _: () = assert!(MAX_SCOPES < BEYOND as usize, "the tags of plain blocks are 1 + scope");

/// The largest request that gets a block of less than 128 bytes.
const SHORT_MAX: usize = 112;

/// The entries of blocks whose address is a multiple of 16, in two layers.
static EVEN: Chunks<{ table(FINE, EVEN_BITS) }, EVEN_BITS> = Chunks::new();
/// Those of 8-byte blocks on the other half of a granule.
static ODD: Chunks<{ table(FINE, EVEN_BITS) }, EVEN_BITS> = Chunks::new();
/// Those of large blocks over jemalloc, which have their pages to themselves.
static PAGES: Chunks<{ table(PAGE, PAGE_BITS) }, PAGE_BITS> = Chunks::new();
const EVEN_BITS: u32 = 24;
const PAGE_BITS: u32 = 16;
/// The smallest block with an entry in [`PAGES`]: it has four, and the fifth of a block of 4 GiB.
pub const LARGE_MIN: usize = 16 * 1024;
/// The granules' lengths, as powers of two: of the layer of all blocks but those that have one of the others,
pub const FINE: u32 = 4;
/// of the layer of long plain blocks of Rust's, of which a free tells the size,
pub const COARSE: u32 = 6;
/// and of large ones.
const PAGE: u32 = 12;

/// The layer in which a plain block has its tag, if a free tells its size. (A number, not a branch: sizes are hard to
/// predict.)
pub const fn layer_of(requested: usize) -> u32 {
    if requested > SHORT_MAX { COARSE } else { FINE }
}

/// Where the entries of one block stand.
#[derive(Clone, Copy)]
pub struct Place(*mut AtomicU16);

impl Place {
    /// The entry `offset` granules after the block's first. The block must reach that far.
    #[inline(always)]
    pub fn load(self, offset: usize) -> u16 {
        // SAFETY: a Place points into a mapped chunk of entries at a block's first granule, and the caller asks only
        // for granules that the block covers, which lie in the same chunk or in the spare entries behind it.
        unsafe { &*self.0.add(offset) }.load(Ordering::Relaxed)
    }

    /// Writes the entry `offset` granules after the block's first. The block must reach that far.
    #[inline(always)]
    pub fn store(self, offset: usize, value: u16) {
        // SAFETY: as for `load`.
        unsafe { &*self.0.add(offset) }.store(value, Ordering::Relaxed)
    }

    /// Tags a plain block.
    #[inline(always)]
    pub fn store_plain(self, tag: u16, requested: usize) {
        self.store(0, tag);
        self.store(1, requested as u16);
    }

    /// Tags any block of at least 64 bytes.
    pub fn store_wide(self, scope: ScopeId, requested: usize, identified: bool) {
        let beyond = requested >> 32;
        self.store(1, scope | if identified { IDENTIFIED } else { 0 });
        self.store(2, requested as u16);
        self.store(3, (requested >> 16) as u16);
        if beyond != 0 {
            self.store(4, beyond as u16);
        }
        self.store(0, if beyond != 0 { BEYOND } else { WIDE });
    }

    /// Scope, requested bytes, and whether the recorder knows the block, as [`Place::store_wide`] wrote them; `None`
    /// for a block that is not wide.
    pub fn load_wide(self) -> Option<(ScopeId, usize, bool)> {
        let first = self.load(0);
        if first != WIDE && first != BEYOND {
            return None;
        }
        let beyond = if first == BEYOND { usize::from(self.load(4)) << 32 } else { 0 };
        let requested = usize::from(self.load(2)) | usize::from(self.load(3)) << 16 | beyond;
        let second = self.load(1);
        Some((second & !IDENTIFIED, requested, second & IDENTIFIED != 0))
    }

    /// The tag and the requested bytes of a plain block; `None` for other blocks, and where none of ours starts.
    #[inline(always)]
    pub fn load_plain(self) -> Option<(u16, usize)> {
        let first = self.load(0);
        (first.wrapping_sub(1) < MAX_SCOPES as u16).then(|| (first, usize::from(self.load(1))))
    }

    /// Takes a plain block's tag off.
    #[inline(always)]
    pub fn clear_plain(self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the two entries are the block's own (see `load`); one store of both is as good as one of each.
        unsafe {
            std::arch::asm!("mov dword ptr [{}], 0", in(reg) self.0, options(nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        (0..2).for_each(|offset| self.store(offset, 0));
    }

    /// Takes whatever tag off.
    pub fn clear(self) {
        let length = match self.load(0) {
            tiny if tiny & TINY != 0 => 1,
            BEYOND => 5,
            WIDE => 4,
            _ => 2,
        };
        (0..length).for_each(|offset| self.store(offset, 0));
    }
}

/// The entries in the fine layer of the block at `address`; `None` when no block near it was ever ours.
#[inline(always)]
pub fn find(address: usize) -> Option<Place> {
    if address & 8 == 0 { EVEN.find(address, FINE) } else { ODD.find(address, FINE) }.map(Place)
}

/// The same without a look at whether the address is a possible one.
///
/// # Safety
/// `address` must be one that the kernel gives to programs: below 2^48.
#[inline(always)]
pub unsafe fn find_fine(address: usize) -> Option<Place> {
    // SAFETY: as the caller promises.
    unsafe { if address & 8 == 0 { EVEN.find_block(address, FINE) } else { ODD.find_block(address, FINE) } }.map(Place)
}

/// The entries of a plain block at `address` in this layer, of which the lowest six bits count. At the address of an 8-byte
/// block there may be the entry of its neighbour, which is not plain either.
///
/// # Safety
/// As for [`find_fine`]; `layer` must be [`FINE`] or [`COARSE`].
#[inline(always)]
pub unsafe fn find_plain(address: usize, layer: u32) -> Option<Place> {
    // SAFETY: as the caller promises.
    unsafe { EVEN.find_block(address, layer) }.map(Place)
}

/// The entries in the coarse layer of the block at `address`.
#[inline(always)]
pub fn find_coarse(address: usize) -> Option<Place> {
    if address & 8 == 0 { EVEN.find(address, COARSE) } else { None }.map(Place)
}

/// The entries of the large block at `address`.
#[inline(always)]
pub fn find_large(address: usize) -> Option<Place> {
    if address & 15 == 0 { PAGES.find(address, PAGE) } else { None }.map(Place)
}

/// The same, mapping them when they are not there yet. `None` when the kernel gives no memory.
pub fn find_or_map_large(address: usize) -> Option<Place> {
    PAGES.find_or_map(address, PAGE).map(Place)
}

/// [`find`], mapping the entries when they are not there yet. `None` when the kernel gives no memory.
pub fn find_or_map(address: usize) -> Option<Place> {
    if address & 8 == 0 { EVEN.find_or_map(address, FINE) } else { ODD.find_or_map(address, FINE) }.map(Place)
}

/// Tags a plain block of more than 16 requested bytes in this layer. `false` when the kernel gives no memory for it.
#[must_use]
pub fn store_plain(address: usize, scope: ScopeId, requested: usize, layer: u32) -> bool {
    // Both layers, so that the hot path of either door finds its own from now on.
    let places = [FINE, COARSE].map(|layer| EVEN.find_or_map(address, layer));
    match EVEN.find(address, layer) {
        Some(place) if places.iter().all(Option::is_some) => {
            Place(place).store_plain(scope + 1, requested);
            true
        }
        _ => false,
    }
}

/// The entries of large blocks at the addresses `start..end`, in pieces that lie together, with the address of the first
/// of each; there is one for every [`LARGE_GRANULE`] bytes.
pub fn entries(start: usize, end: usize) -> impl Iterator<Item = (usize, &'static [AtomicU16])> {
    PAGES.entries(start, end, PAGE)
}

/// Bytes of heap for each entry that [`entries`] gives.
pub const LARGE_GRANULE: usize = 1 << PAGE;

/// Requested bytes of the wide block that an entry and those after it tell of; `None` when they tell of none. Reads
/// tags that other threads may be changing: good for a census, not for the block itself.
pub fn large(entries: &[AtomicU16]) -> Option<usize> {
    let place = Place(entries.get(..5)?.as_ptr().cast_mut());
    place.load_wide().map(|(_, requested, _)| requested)
}

/// The addresses that the tables of chunks occupy.
pub fn ranges() -> [(usize, usize); 3] {
    [EVEN.range(), ODD.range(), PAGES.range()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_come_back_and_leave_nothing() {
        let block = vec![0u128; 64];
        let place = find_or_map(block.as_ptr().addr()).expect("a chunk of entries");
        for requested in [0, 64, 80, 14_337, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0008, (1 << 47) + 12_345] {
            for (scope, identified) in [(0, false), (7, true), (MAX_SCOPES as ScopeId - 1, true)] {
                place.store_wide(scope, requested, identified);
                assert_eq!(place.load_wide(), Some((scope, requested, identified)));
                assert_eq!(place.load_plain(), None);
                place.clear();
                assert!((0..6).all(|offset| place.load(offset) == 0));
            }
        }
        for tag in [1, MAX_SCOPES as u16] {
            place.store_plain(tag, 14_336);
            assert_eq!((place.load_plain(), place.load_wide()), (Some((tag, 14_336)), None));
            place.clear();
        }
        place.store(0, TINY | 1);
        assert_eq!((place.load_plain(), place.load_wide()), (None, None));
        place.clear();
        assert!((0..6).all(|offset| place.load(offset) == 0));
    }

    #[test]
    fn addresses_of_no_block_are_nobodys() {
        assert!(find(8).is_none_or(|place| place.load(0) == 0));
        assert!(find(usize::MAX & !15).is_none_or(|place| place.load(0) == 0));
    }
}
