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
//!         0x7f80 to 0x7fff         a wide tag (see wide.rs), of any other block; it has three further entries or four
//! ```
//!
//! A tag is written after the backend has handed the block out, and cleared before the backend gets the block back. So
//! only the thread that has the block in hand writes its entries, and there is never a tag where no live block starts.
//! All accesses are relaxed atomics. When the program hands a block from one thread to another, it must synchronise the
//! two threads anyway, which orders the accesses to the tag as well.
use std::hint::select_unpredictable;
use std::sync::atomic::AtomicU16;

use alloc_replay::ScopeId;

use super::chunks::{Chunks, ONE_LAYER, SEVERAL_LAYERS, table};
use super::entries::{ShadowRef, UNSIZED, wide_length};
use super::wide::WideRef;
use super::word::{ALIGNMENT, COARSE, COARSEST, FINE};

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

/// The entries in the page layer of the block at `address`; `None` when their chunk is not mapped, and where no large block begins.
#[inline(always)]
pub fn find_large(address: usize) -> Option<WideRef> {
    WideRef::large(ShadowRef(PAGES.find(address, PAGE)?), address)
}

/// [`find_large`], mapping the chunk if that is not mapped yet. `None` when the kernel gives no memory.
pub fn find_or_map_large(address: usize) -> Option<WideRef> {
    WideRef::large(ShadowRef(PAGES.find_or_map(address, PAGE)?), address)
}

/// Whether `address` lies behind the beginning of a block with a wide tag, so near that its entry may be a part of that tag. An entry before it
/// that looks like the first of a wide tag, and is not, holds a part of a block's size; a block of such a size reaches beyond `address` as well.
pub fn is_in_wide(address: usize) -> bool {
    let reaches = |granules: usize, shift: u32, find: &dyn Fn(usize) -> Option<*mut AtomicU16>| {
        let entry = address.checked_sub(granules << shift).and_then(find);
        let length = entry.and_then(|entry| wide_length(ShadowRef(entry).load(0)));
        length.is_some_and(|length| granules < length)
    };
    (1..5).any(|granules| {
        reaches(granules, FINE, &|before| SMALL.find(before, FINE))
            || reaches(granules, PAGE, &|before| PAGES.find(before, PAGE))
            || reaches(granules, FINEST, &|before| SHORTEST.find(before, FINEST))
    })
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
    fn addresses_of_no_block_are_nobodys() {
        assert!(find(8).is_none_or(|place| place.load(0) == 0));
        assert!(find(usize::MAX & !15).is_none_or(|place| place.load(0) == 0));
    }
}
