//! The shadow map: from an address to the tag of the block that starts there, in entries of 16 bits.
//!
//! The map has layers. A layer has one entry for every 2^shift bytes of the address space, a *granule*:
//!
//! | layer | one entry for | tags of |
//! |---|---|---|
//! | finest | 8 bytes | blocks of 8 bytes, and of other allocators than jemalloc all that begin at odd multiples of 8 |
//! | fine | 16 bytes | all blocks whose tag is in no other layer |
//! | coarse | 64 bytes | plain blocks of 128 to 448 bytes that came through Rust's door |
//! | coarsest | 256 bytes | plain blocks of at least 512 bytes that came through Rust's door, and C's at multiples of 512 |
//! | page | 4 KiB | large blocks, of 16 KiB and more, over jemalloc |
//!
//! Most of the cost of tagging is cache misses, and fewer entries fill fewer cache lines. A free through Rust's door tells the
//! size, and the size tells the layer. A free through C's door tells nothing but the address, and so it is the address
//! that tells the layer of C's blocks. A plain block has its tag in one of the layers, never in two.
//!
//! Two blocks never share an entry. jemalloc keeps blocks of one size together in pages of their own. Where these have tags
//! in one of the two coarser layers, either each of them is at least two granules long, or each begins at a multiple of
//! two granules.
//!
//! ```text
//! entries of a block, from that of its first granule:
//!   0     0                        no tracked block starts here
//!         1 + scope                a plain tag; there follows:
//!   1     requested bytes            at most 14,336; | UNSIZED (0xc000) when the block's free will not tell them
//!         0x8000 | tiny tag        the tag of a request of at most 16 bytes (see tiny.rs); nothing follows
//!         WIDE                     a wide tag, of any other block; the block has at least 64 bytes, and there follow:
//!   1     scope                      | FOLLOWED (0x8000) when the recorder follows the block by its address
//!   2     requested bytes, bits 0-15
//!   3     requested bytes, bits 16-29  | NATURAL (0x8000) when the block is of the class that its request gets at natural alignment,
//!                                        | SAMPLED (0x4000) when it may be one whose calls are known
//!   4     requested bytes, bits 32-47, if entry 0 is BEYOND instead of WIDE; entry 3 then has the bits 16-31
//! ```
//!
//! A tag is written after the backend has handed the block out, and cleared before the backend gets the block back. So
//! only the thread that has the block in hand writes its entries, and there is never a tag where no live block starts.
//! All accesses are relaxed atomics. When the program hands a block from one thread to another, it must synchronise the
//! two threads anyway, which orders the accesses to the tag as well.
use std::hint::select_unpredictable;
use std::sync::atomic::{AtomicU16, Ordering};

use alloc_replay::ScopeId;

use super::chunks::{Chunks, ONE_LAYER, SEVERAL_LAYERS, table};
use super::word::{ALIGNMENT, COARSE, COARSEST, FINE, SMALL_MAX};
use crate::scope::MAX_SCOPES;

/// Flag in the first entry of a tiny tag.
pub const TINY: u16 = 0x8000;
/// Flag in the second entry of a plain tag: the block's free will not tell its size. In the coarsest layer, such a block
/// begins at a multiple of [`ALIGNMENT`], and may be shorter than the two granules of its tag. An address elsewhere in them
/// is that of another block, or inside of this one; with this flag, the second entry is no first entry of a plain tag.
const UNSIZED: u16 = 0xc000;
const _: () = assert!(SMALL_MAX < (!UNSIZED) as usize);
/// The first entry of a wide tag whose scope and size stand in the next three entries.
const WIDE: u16 = 0x7fff;
/// The first entry of a wide tag with four further entries, for requests of 1 GiB and more.
const BEYOND: u16 = 0x7ffe;
/// Flag in the second entry of a wide tag: the recorder follows the block by its address.
const FOLLOWED: u16 = 0x8000;
/// Flags in the fourth entry of a wide tag with three further entries: the block is of the size class that its request gets at natural
/// alignment, and it may be one whose calls are known.
const NATURAL: u16 = 0x8000;
const SAMPLED: u16 = 0x4000;
/// From so many requested bytes on a wide tag has four further entries.
const BEYOND_MIN: usize = (SAMPLED as usize) << 16;
const _: () = assert!(MAX_SCOPES < BEYOND as usize, "the tags of plain blocks are 1 + scope");

/// The finest layer.
static SHORTEST: Chunks<ONE_LAYER, { table(ONE_LAYER, FINEST, SMALL_BITS) }, SMALL_BITS> = Chunks::new();
/// The fine layer and the two coarser ones.
static SMALL: Chunks<SEVERAL_LAYERS, { table(SEVERAL_LAYERS, FINE, SMALL_BITS) }, SMALL_BITS> = Chunks::new();
/// The page layer: large blocks over jemalloc, which share no page with other blocks.
static PAGES: Chunks<ONE_LAYER, { table(ONE_LAYER, PAGE, PAGE_BITS) }, PAGE_BITS> = Chunks::new();
const SMALL_BITS: u32 = 24;
const PAGE_BITS: u32 = 16;
/// The shift of the finest layer.
const FINEST: u32 = 3;
/// Blocks of so many usable bytes have their tags in the finest layer.
pub const SHORTEST_BLOCK: usize = 8;
/// The smallest block, in usable bytes, whose tag stands in [`PAGES`]. Its four pages have the four entries of a wide
/// tag; a block that needs a fifth entry has 1 GiB or more.
pub const LARGE_MIN: usize = 16 * 1024;
/// The shift of the page layer.
const PAGE: u32 = 12;

/// What a wide tag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide {
    /// Who owns the block.
    pub scope: ScopeId,
    /// The bytes that were asked for.
    pub requested: usize,
    /// Whether the recorder follows the block by its address.
    pub followed: bool,
    /// Whether the block may be one whose calls are known; always so for requests of 1 GiB and more.
    pub sampled: bool,
    /// Whether the block is known to be of the size class that its request gets at natural alignment; never so for requests of 1 GiB and more.
    pub natural: bool,
}

/// A reference to the entries of one block.
#[derive(Clone, Copy)]
pub struct ShadowRef(*mut AtomicU16);

impl ShadowRef {
    /// The entry `offset` granules after the block's first. The block must reach that far.
    #[inline(always)]
    pub fn load(self, offset: usize) -> u16 {
        // SAFETY: a ShadowRef points to the entry of a granule in a mapped chunk (`Chunks::find`). The caller asks only
        // for granules that the block covers, of which a tag uses five at most: they have entries in the same chunk or
        // in the spare ones behind it.
        unsafe { &*self.0.add(offset) }.load(Ordering::Relaxed)
    }

    /// Writes the entry `offset` granules after the block's first. The block must reach that far.
    #[inline(always)]
    pub fn store(self, offset: usize, value: u16) {
        // SAFETY: as for `load`.
        unsafe { &*self.0.add(offset) }.store(value, Ordering::Relaxed)
    }

    /// Writes a plain tag. `SIZED`: whether the block's free will tell its size.
    #[inline(always)]
    pub fn store_plain<const SIZED: bool>(self, tag: u16, requested: usize) {
        self.store(0, tag);
        self.store(1, requested as u16 | if SIZED { 0 } else { UNSIZED });
    }

    /// The requested bytes of a plain tag.
    #[inline(always)]
    pub fn plain_size(self) -> usize {
        usize::from(self.load(1) & !UNSIZED)
    }

    /// Writes a wide tag; the block must have at least 64 bytes.
    pub fn store_wide(self, tag: Wide) {
        let Wide { scope, requested, followed, sampled, natural } = tag;
        let is_beyond = requested >= BEYOND_MIN;
        let flags = if natural { NATURAL } else { 0 } | if sampled { SAMPLED } else { 0 };
        self.store(1, scope | if followed { FOLLOWED } else { 0 });
        self.store(2, requested as u16);
        self.store(3, (requested >> 16) as u16 | if is_beyond { 0 } else { flags });
        if is_beyond {
            self.store(4, (requested >> 32) as u16);
        }
        self.store(0, if is_beyond { BEYOND } else { WIDE });
    }

    /// What [`ShadowRef::store_wide`] wrote; `None` when there is no wide tag.
    pub fn load_wide(self) -> Option<Wide> {
        let first = self.load(0);
        if first != WIDE && first != BEYOND {
            return None;
        }
        let [second, lowest, third] = [1, 2, 3].map(|offset| self.load(offset));
        let (middle, beyond, flags) =
            if first == BEYOND { (third, self.load(4), SAMPLED) } else { (third & !(NATURAL | SAMPLED), 0, third) };
        let requested = usize::from(lowest) | usize::from(middle) << 16 | usize::from(beyond) << 32;
        let [followed, sampled, natural] = [second & FOLLOWED, flags & SAMPLED, flags & NATURAL].map(|flag| flag != 0);
        Some(Wide { scope: second & !FOLLOWED, requested, followed, sampled, natural })
    }

    /// The first entry (1 + scope) and the requested bytes of a plain tag; `None` when there is no plain tag.
    #[inline(always)]
    pub fn load_plain(self) -> Option<(u16, usize)> {
        let first = self.load(0);
        (first.wrapping_sub(1) < MAX_SCOPES as u16).then(|| (first, self.plain_size()))
    }

    /// Clears a plain tag.
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

    /// Clears a tag of any kind.
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

/// The entries in the fine layer of the block at `address`, or in the finest one if it begins at an odd multiple of 8; `None` when their
/// chunk is not mapped.
#[inline(always)]
pub fn find(address: usize) -> Option<ShadowRef> {
    if address & 8 == 0 { SMALL.find(address, FINE).map(ShadowRef) } else { find_shortest(address) }
}

/// The entries in the finest layer of the block at `address`; `None` when their chunk is not mapped.
#[inline(always)]
pub fn find_shortest(address: usize) -> Option<ShadowRef> {
    SHORTEST.find(address, FINEST).map(ShadowRef)
}

/// The entry of a block of `USABLE` bytes, 8 or 16, at `address`; `None` when its chunk is not mapped.
///
/// # Safety
/// `address` must be one that the kernel gives to programs: below 2^48.
#[inline(always)]
pub unsafe fn find_tiny<const USABLE: usize>(address: usize) -> Option<ShadowRef> {
    // SAFETY: as the caller promises.
    let entry = unsafe {
        if USABLE == SHORTEST_BLOCK { SHORTEST.find_block(address, FINEST) } else { SMALL.find_block(address, FINE) }
    };
    entry.map(ShadowRef)
}

/// The layer in which the hot path writes the tag of a plain block at `address` if its free will not tell its size. (The
/// cold path writes it in the fine layer, wherever the block begins.)
#[inline(always)]
pub fn layer_of_address(address: usize) -> u32 {
    // Which blocks begin at such multiples is chance: a branch would be mispredicted.
    select_unpredictable(address.is_multiple_of(ALIGNMENT), COARSEST, FINE)
}

/// The entries of a plain block at `address` in this layer, of whose number only the lowest six bits count.
///
/// # Safety
/// As for [`find_tiny`]; `layer` must be [`FINE`], [`COARSE`] or [`COARSEST`].
#[inline(always)]
pub unsafe fn find_plain(address: usize, layer: u32) -> Option<ShadowRef> {
    // SAFETY: as the caller promises.
    unsafe { SMALL.find_block(address, layer) }.map(ShadowRef)
}

/// [`find_plain`] for a block whose free will not tell its size, in the layer that [`layer_of_address`] gives.
///
/// # Safety
/// As for [`find_tiny`].
#[inline(always)]
pub unsafe fn find_plain_by_address(address: usize) -> Option<ShadowRef> {
    // SAFETY: as the caller promises.
    unsafe { SMALL.find_block_by::<ALIGNMENT>(address, [FINE, COARSEST]) }.map(ShadowRef)
}

/// The plain tag of the block at `address` in the coarse layer or in the coarsest one, with its entries, as
/// [`ShadowRef::load_plain`] gives it; `None` when there is none.
pub fn find_coarser(address: usize) -> Option<(ShadowRef, u16, usize)> {
    let layers = match address {
        likely if likely.is_multiple_of(ALIGNMENT) => &[COARSEST, COARSE][..],
        possible if possible.is_multiple_of(16) => &[COARSE, COARSEST],
        _ => &[],
    };
    let own = |&layer: &u32| {
        let place = SMALL.find(address, layer).map(ShadowRef)?;
        let (tag, requested) = place.load_plain()?;
        let is_sized = place.load(1) & UNSIZED == 0;
        (is_sized || address.is_multiple_of(ALIGNMENT)).then_some((place, tag, requested))
    };
    layers.iter().find_map(own)
}

/// The entries in the page layer of the block at `address`; `None` when their chunk is not mapped.
#[inline(always)]
pub fn find_large(address: usize) -> Option<ShadowRef> {
    if address & 15 == 0 { PAGES.find(address, PAGE) } else { None }.map(ShadowRef)
}

/// [`find_large`], mapping the chunk if that is not mapped yet. `None` when the kernel gives no memory.
pub fn find_or_map_large(address: usize) -> Option<ShadowRef> {
    PAGES.find_or_map(address, PAGE).map(ShadowRef)
}

/// [`find`], mapping the chunk if that is not mapped yet. `None` when the kernel gives no memory.
pub fn find_or_map(address: usize) -> Option<ShadowRef> {
    if address & 8 == 0 { SMALL.find_or_map(address, FINE).map(ShadowRef) } else { find_or_map_shortest(address) }
}

/// [`find_shortest`], mapping the chunk if that is not mapped yet. `None` when the kernel gives no memory.
pub fn find_or_map_shortest(address: usize) -> Option<ShadowRef> {
    SHORTEST.find_or_map(address, FINEST).map(ShadowRef)
}

/// Writes the plain tag of a block of more than 16 requested bytes, in this layer. `SIZED`: whether the block's free will
/// tell its size. `false` when the kernel gives no memory.
#[must_use]
pub fn store_plain<const SIZED: bool>(address: usize, scope: ScopeId, requested: usize, layer: u32) -> bool {
    // The chunks of all these layers are mapped, so that from now on the hot path of either door finds its entries.
    let places = [FINE, COARSE, COARSEST].map(|layer| SMALL.find_or_map(address, layer));
    match SMALL.find(address, layer) {
        Some(place) if places.iter().all(Option::is_some) => {
            ShadowRef(place).store_plain::<SIZED>(scope + 1, requested);
            true
        }
        _ => false,
    }
}

/// The addresses that the tables of origins occupy.
pub fn ranges() -> [(usize, usize); 3] {
    [SHORTEST.range(), SMALL.range(), PAGES.range()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_come_back_and_leave_nothing() {
        let block = vec![0u128; 64];
        let place = find_or_map(block.as_ptr().addr()).expect("a chunk of entries");
        let small = [0, 64, 80, 14_337, 0x3fff_ffff].map(|requested| (requested, false));
        let large = [0x4000_0000, 0xffff_ffff, 0x1_0000_0008, (1 << 47) + 12_345].map(|requested| (requested, true));
        for (requested, sampled) in small.into_iter().chain(large) {
            for (scope, followed) in [(0, false), (7, true), (MAX_SCOPES as ScopeId - 1, true)] {
                let tag = Wide { scope, requested, followed, sampled, natural: false };
                place.store_wide(tag);
                assert_eq!(place.load_wide(), Some(tag));
                let with_flags = Wide { sampled: true, natural: true, ..tag };
                place.store_wide(with_flags);
                // Of a large request no flag is kept: it may be sampled, and its class is not known.
                assert_eq!(place.load_wide(), Some(if sampled { tag } else { with_flags }));
                assert_eq!(place.load_plain(), None);
                place.clear();
                assert!((0..6).all(|offset| place.load(offset) == 0));
            }
        }
        for tag in [1, MAX_SCOPES as u16] {
            place.store_plain::<true>(tag, 14_336);
            assert_eq!((place.load_plain(), place.load_wide()), (Some((tag, 14_336)), None));
            place.store_plain::<false>(tag, 14_336);
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
