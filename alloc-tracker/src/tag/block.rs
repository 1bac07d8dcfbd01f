//! Finding the tag of a block: its kind, what it says, and in which entries of the shadow map it stands.
use alloc_replay::ScopeId;

use super::entries::{ShadowRef, TINY};
use super::shadow;
use super::tiny::{self, Tiny};
use super::wide::{Wide, WideRef};
use super::word::{ALIGNMENT, SMALL_MAX};

/// What a tag says, by the kind of the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A small block, larger than a tiny one: scope and requested bytes. Over jemalloc it is of the size class that the
    /// request gets at natural alignment.
    Plain(ScopeId, usize),
    /// A block for a request of at most 16 bytes.
    Tiny(Tiny),
    /// Any other block.
    Wide(Wide),
}

impl Tag {
    /// Who owns the block.
    pub fn scope(&self) -> ScopeId {
        match *self {
            Tag::Plain(scope, _) => scope,
            Tag::Wide(wide) => wide.scope,
            Tag::Tiny(tiny) => tiny.scope,
        }
    }

    /// The bytes that were asked for.
    pub fn requested(&self) -> usize {
        match *self {
            Tag::Plain(_, requested) => requested,
            Tag::Wide(wide) => wide.requested,
            Tag::Tiny(tiny) => tiny.requested,
        }
    }
}

/// The tag of the block that starts at `address`, and its entries; `None` when no tracked block starts there.
///
/// A block has its tag in one layer alone. The layers with the fewest entries come first: where a layer has no tag, what is read of it
/// becomes a page of zeros, which takes a fault, and another one when a tag is written there.
pub fn find(address: usize) -> Option<(ShadowRef, Tag)> {
    if let Some(found) = find_large(address) {
        return Some(found);
    }
    if address.is_multiple_of(ALIGNMENT) {
        return find_coarser(address).or_else(|| find_fine(address)).or_else(|| find_shortest(address));
    }
    find_fine(address).or_else(|| find_coarser(address)).or_else(|| find_shortest(address))
}

/// [`find`] for an address that somebody hands over, who need not know where blocks start: `None` also inside of a block with a wide tag.
pub fn find_start(address: usize) -> Option<(ShadowRef, Tag)> {
    let found = find(address)?;
    let is_possible = !matches!(found.1, Tag::Plain(_, requested) if requested > SMALL_MAX);
    (is_possible && !shadow::is_in_wide(address)).then_some(found)
}

fn find_shortest(address: usize) -> Option<(ShadowRef, Tag)> {
    let place = shadow::find_shortest(address)?;
    tiny_tag(place).map(|tag| (place, tag))
}

/// The tag in this entry, if it is that of a tiny block.
fn tiny_tag(place: ShadowRef) -> Option<Tag> {
    let entry = place.load(0);
    (entry & TINY != 0).then(|| Tag::Tiny(tiny::pair(entry)))
}

fn find_fine(address: usize) -> Option<(ShadowRef, Tag)> {
    let place = shadow::find(address)?;
    let plain = || place.load_plain().map(|(tag, requested)| Tag::Plain(tag - 1, requested));
    let tag = WideRef::fine(place).load().map(Tag::Wide).or_else(|| tiny_tag(place)).or_else(plain)?;
    Some((place, tag))
}

fn find_coarser(address: usize) -> Option<(ShadowRef, Tag)> {
    shadow::find_coarser(address).map(|(place, tag, requested)| (place, Tag::Plain(tag - 1, requested)))
}

fn find_large(address: usize) -> Option<(ShadowRef, Tag)> {
    let place = shadow::find_large(address)?;
    place.load().map(|wide| (place.place(), Tag::Wide(wide)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag::class;
    use crate::tag::word::{COARSEST, FINE};

    /// A slab of jemalloc's has blocks of one class, side by side from the start of a page. Where the address tells the
    /// layer, each block has two entries of its own there.
    #[test]
    fn plain_blocks_share_no_entry() {
        for usable in (17..=SMALL_MAX).map(class::usable) {
            let blocks = (0..512).map(|block| block * usable);
            for layer in [FINE, COARSEST] {
                let there = blocks.clone().filter(|&block| shadow::layer_of_address(block) == layer);
                let entries: Vec<usize> = there.map(|block| block >> layer).collect();
                assert!(entries.is_sorted_by(|this, next| this + 2 <= *next), "{usable} bytes, layer {layer}");
            }
        }
    }

    /// Memory inside of a block of the test's: where it begins, at a multiple of [`ALIGNMENT`], of which it has so many.
    fn memory(times: usize) -> (Vec<u8>, usize) {
        let memory = vec![0u8; (times + 2) * ALIGNMENT];
        let start = (memory.as_ptr().addr() + 1).next_multiple_of(ALIGNMENT);
        (memory, start)
    }

    /// Blocks of 128 bytes as C's door tags them: of ten, the first, the fifth and the ninth begin at multiples of 512. The
    /// number of a scope could be a size, and a size the number of a scope.
    #[test]
    fn blocks_side_by_side_are_found_by_their_addresses() {
        let (_memory, start) = memory(3);
        let blocks: [_; 10] = std::array::from_fn(|index| (start + 128 * index, 110 + index as ScopeId, 113 + index));
        let layers = blocks.map(|(address, ..)| shadow::layer_of_address(address));
        assert_eq!(layers.iter().filter(|&&layer| layer == COARSEST).count(), 3);
        for (&(address, scope, requested), layer) in blocks.iter().zip(layers) {
            assert!(shadow::store_plain::<false>(address, scope, requested, layer));
        }
        let found = || blocks.map(|(address, ..)| find(address).map(|(_, tag)| (tag.scope(), tag.requested())));
        assert_eq!(found(), blocks.map(|(_, scope, requested)| Some((scope, requested))));
        for (address, ..) in blocks {
            find(address).expect("a tag").0.clear();
        }
        assert_eq!(found(), [None; 10]);
    }

    /// Two short blocks have their tags in the coarsest layer, and those between them have none, as when the kernel refuses
    /// memory for the fine layer. These must be found to be neither the first block, whose granule one of them shares, nor
    /// a block whose scope is the first one's size and whose size is the second one's scope (which is above 448: blocks of
    /// such a size have their tags in the coarsest layer).
    #[test]
    fn blocks_without_a_tag_are_not_their_neighbours() {
        let (_memory, start) = memory(2);
        let blocks = [(start, 5, 113), (start + ALIGNMENT, 600, 114)];
        for (address, scope, requested) in blocks {
            assert!(shadow::store_plain::<false>(address, scope, requested, COARSEST));
        }
        let without = [128, 256, 384].map(|offset| find(start + offset));
        assert_eq!(without.map(|found| found.map(|(_, tag)| tag)), [None; 3]);
        for (address, scope, requested) in blocks {
            let (place, tag) = find(address).expect("a tag");
            assert_eq!(tag, Tag::Plain(scope, requested));
            place.clear();
        }
    }

    /// Four blocks of 8 bytes and two of 16 behind them. A block of 8 bytes that begins at a multiple of 16 shares that granule of the fine
    /// layer with the next one.
    #[test]
    fn tiny_blocks_side_by_side_are_found_by_their_addresses() {
        let (_memory, start) = memory(1);
        let shortest = [(0, 3), (8, 8), (16, 0), (24, 5)].map(|(offset, requested)| (start + offset, requested, 8));
        let longer = [(32, 9), (48, 16)].map(|(offset, requested)| (start + offset, requested, 16));
        let blocks: Vec<_> = shortest.into_iter().chain(longer).collect();
        for &(address, requested, usable) in &blocks {
            let place = if usable == 8 { shadow::find_or_map_shortest(address) } else { shadow::find_or_map(address) };
            place.expect("a chunk of entries").store(0, tiny::entry(80, requested, usable));
        }
        for &(address, requested, usable) in &blocks {
            let (place, tag) = find(address).expect("a tag");
            assert_eq!(tag, Tag::Tiny(Tiny { scope: 80, requested, usable }));
            place.clear();
            assert_eq!(find(address).map(|(_, tag)| tag), None);
        }
    }

    /// Programs hand over addresses inside of blocks as well: the bytes of a Python object begin behind its head, and a tensor may begin
    /// there. They are nobody's.
    #[test]
    fn inside_of_a_block_no_block_starts() {
        let (_memory, start) = memory(4);
        for requested in [200, 600, 2000] {
            assert!(shadow::store_plain::<false>(start, 5, requested, COARSEST));
            let inside = [16, 32, 128, 256, 496, 512, 1024].map(|offset| find(start + offset));
            assert_eq!(inside.map(|found| found.map(|(_, tag)| tag)), [None; 7], "{requested}");
            find(start).expect("a tag").0.clear();
        }
    }

    /// So that no label is written over a tag. Blocks of all sizes have wide tags in the fine layer where they are followed, and over other
    /// allocators than jemalloc. Each of these sizes could be a scope's number, or the beginning of a wide tag.
    #[test]
    fn inside_of_a_block_with_a_wide_tag_no_block_starts() {
        let (_memory, start) = memory(4);
        let fine = WideRef::fine(shadow::find_or_map(start).expect("a chunk of entries"));
        for requested in [100, 14_337, 0x2_0005, 0x1_7f80, 0x3f80_7f81, 0x7f80_7f80, 0x12_3456_7fff] {
            fine.store(Wide { scope: 5, requested, followed: false, sampled: true, natural: false });
            assert!(find_start(start).is_some(), "{requested}");
            let inside = [8, 16, 24, 32, 40, 48].map(|offset| find_start(start + offset));
            assert_eq!(inside.map(|found| found.map(|(_, tag)| tag)), [None; 6], "{requested}");
            fine.place().clear();
        }
    }

    /// jemalloc begins a large block at any multiple of 64 bytes within its first page.
    #[test]
    fn inside_of_a_large_block_no_block_starts() {
        let mut memory = vec![0u8; 1 << 20];
        let page = memory.as_mut_ptr().addr().next_multiple_of(4096) + 4096;
        let start = page + 192;
        let large = shadow::find_or_map_large(start).expect("a chunk of entries");
        let before = large.place().load(0);
        assert_eq!(before, 0, "the memory's own tag is a page before");
        large.store(Wide { scope: 5, requested: 0x1_7f80, followed: true, sampled: false, natural: false });
        assert!(find_start(start).is_some());
        let offsets = [16, 32, 64, 128, 2048, 4096 - 192, 4096, 2 * 4096 - 192, 2 * 4096, 3 * 4096];
        let inside = offsets.map(|offset| find_start(start + offset).map(|(_, tag)| tag));
        assert_eq!((inside, find_start(page).map(|(_, tag)| tag)), ([None; 10], None));
        large.place().clear();
    }
}
