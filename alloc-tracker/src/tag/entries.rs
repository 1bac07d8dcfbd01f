//! The entries of one block: those of plain tags, and how long the tags of all kinds are.
use std::sync::atomic::{AtomicU16, Ordering};

use super::word::SMALL_MAX;
use crate::scope::MAX_SCOPES;

/// Flag in the first entry of a tiny tag.
pub const TINY: u16 = 0x8000;
/// Flag in the second entry of a plain tag: the block's free will not tell its size. In the coarsest layer, such a block
/// begins at a multiple of [`ALIGNMENT`](super::word::ALIGNMENT), and may be shorter than the two granules of its tag. An address elsewhere in them
/// is that of another block, or inside of this one; with this flag, the second entry is no first entry of a plain tag.
pub const UNSIZED: u16 = 0xc000;
const _: () = assert!(SMALL_MAX < (!UNSIZED) as usize);
/// The first entry of a wide tag in the fine layer. The lowest seven bits of those in the page layer say more (see wide.rs).
pub const WIDE: u16 = 0x7f80;
/// Flag in the first entry of a wide tag: it has four further entries, and not three.
pub const BEYOND: u16 = 1;
const _: () = assert!(MAX_SCOPES < WIDE as usize, "the tags of plain blocks are 1 + scope");

/// A reference to the entries of one block.
#[derive(Clone, Copy)]
pub struct ShadowRef(pub(super) *mut AtomicU16);

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
            other => wide_length(other).unwrap_or(2),
        };
        (0..length).for_each(|offset| self.store(offset, 0));
    }
}

/// How many entries a wide tag has whose first one this is; `None` if it is not that of a wide tag.
pub fn wide_length(first: u16) -> Option<usize> {
    let is_wide = (WIDE..TINY).contains(&first);
    is_wide.then_some(if first & BEYOND != 0 { 5 } else { 4 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_tags_come_back_and_leave_nothing() {
        let mut entries = [const { AtomicU16::new(0) }; 6];
        let place = ShadowRef(entries.as_mut_ptr());
        for tag in [1, MAX_SCOPES as u16] {
            place.store_plain::<true>(tag, 14_336);
            assert_eq!(place.load_plain(), Some((tag, 14_336)));
            place.store_plain::<false>(tag, 14_336);
            assert_eq!(place.load_plain(), Some((tag, 14_336)));
            place.clear();
            assert!((0..6).all(|offset| place.load(offset) == 0));
        }
        place.store(0, TINY | 1);
        assert_eq!(place.load_plain(), None);
        place.clear();
        assert!((0..6).all(|offset| place.load(offset) == 0));
    }
}
