//! Entries for every granule of the address space, in chunks that are mapped when the first block in them is tagged.
//!
//! ```text
//! address  0x7f12_3456_7890, granules of 16 bytes:
//! number of its granule, below a mark   0x1_07f1_2345_6789
//!                                         \_______/\_____/
//!                                           chunk    place in the chunk of 2^24 entries
//!
//! origins[chunk] -> where the entry of granule 0 would stand, if the chunk's entries went on that far; so an entry is
//!                   found by the number of its granule. Null: no block in the chunk was ever ours.
//! ```
//!
//! One table may hold several layers, of granules of different lengths (`shift`: their logarithm). The mark, a bit above all
//! addresses, is shifted with the address, and so gives each layer a range of numbers of its own.
//!
//! A chunk's entries are reserved at once and resident where touched. They are never given back.
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU16, Ordering};

use crate::sys;

/// Addresses are below 2^48.
const ADDRESS_BITS: u32 = 48;
const MARK: usize = 1 << ADDRESS_BITS;
/// A block at the very end of a chunk has entries behind it: one page of spare ones.
const SPARE: usize = 4096 / size_of::<AtomicU16>();

/// How many origins a table needs whose shortest granule is of 2^`shift` bytes.
pub const fn table(shift: u32, bits: u32) -> usize {
    1 << (ADDRESS_BITS + 1 - shift - bits)
}

/// See the module. `TABLE` is what [`table`] says; a chunk has 2^`BITS` entries.
pub struct Chunks<const TABLE: usize, const BITS: u32> {
    origins: [AtomicPtr<AtomicU16>; TABLE],
}

/// The number of the granule of 2^`shift` bytes at `address`.
#[inline(always)]
const fn granule(address: usize, shift: u32) -> usize {
    (address | MARK).wrapping_shr(shift)
}

impl<const TABLE: usize, const BITS: u32> Chunks<TABLE, BITS> {
    #[allow(clippy::new_without_default, reason = "const, for statics")]
    pub const fn new() -> Self {
        Chunks { origins: [const { AtomicPtr::new(ptr::null_mut()) }; TABLE] }
    }

    /// The entry of `address`'s granule of 2^`shift` bytes; `None` when no block near it was ever ours.
    #[inline(always)]
    pub fn find(&self, address: usize, shift: u32) -> Option<*mut AtomicU16> {
        // An address beyond the table is nobody's.
        let origin = self.origins.get(granule(address, shift) >> BITS)?;
        Self::entry(origin, granule(address, shift))
    }

    /// [`Chunks::find`] without a look at whether the address is a possible one. Of `shift` the lowest six bits count.
    ///
    /// # Safety
    /// `address` must be one that the kernel gives to programs: below 2^48. `shift` must be that of a layer, or a longer one.
    #[inline(always)]
    pub unsafe fn find_block(&self, address: usize, shift: u32) -> Option<*mut AtomicU16> {
        debug_assert!(granule(address, shift) >> BITS < TABLE);
        // SAFETY: the address is below the mark, as the caller promises, and there are origins for all such granules.
        let origin = unsafe { self.origins.get_unchecked(granule(address, shift) >> BITS) };
        Self::entry(origin, granule(address, shift))
    }

    /// `origin` is that of the granule's chunk.
    #[inline(always)]
    fn entry(origin: &AtomicPtr<AtomicU16>, granule: usize) -> Option<*mut AtomicU16> {
        let origin = origin.load(Ordering::Acquire);
        (!origin.is_null()).then(|| origin.wrapping_add(granule))
    }

    /// The entry of `address`'s granule of 2^`shift` bytes, mapping its chunk when it is not there yet. `None` when the kernel
    /// gives no memory.
    pub fn find_or_map(&self, address: usize, shift: u32) -> Option<*mut AtomicU16> {
        self.find(address, shift).or_else(|| self.map(address, shift))
    }

    #[cold]
    fn map(&self, address: usize, shift: u32) -> Option<*mut AtomicU16> {
        let chunk = granule(address, shift) >> BITS;
        let origin = self.origins.get(chunk)?;
        let bytes = ((1 << BITS) + SPARE) * size_of::<AtomicU16>();
        let fresh = sys::map_zeroed(bytes).cast::<AtomicU16>();
        if fresh.is_null() {
            return None;
        }
        let start = fresh.wrapping_sub(chunk << BITS);
        // An origin of null would say that nothing is mapped; no kernel maps there of its own choice.
        if start.is_null()
            || origin.compare_exchange(ptr::null_mut(), start, Ordering::AcqRel, Ordering::Acquire).is_err()
        {
            sys::unmap(fresh.cast(), bytes);
        }
        self.find(address, shift)
    }

    /// The entries of the granules of 2^`shift` bytes in the addresses `start..end`, in pieces that lie together, with the
    /// address of the first of each.
    pub fn entries(
        &'static self,
        start: usize,
        end: usize,
        shift: u32,
    ) -> impl Iterator<Item = (usize, &'static [AtomicU16])> {
        let long = BITS + shift;
        (start >> long..=end.saturating_sub(1) >> long).filter_map(move |chunk| {
            let from = start.max(chunk << long);
            let to = end.min((chunk + 1) << long);
            let entries = self.find(from, shift)?;
            // SAFETY: `from` and `to` lie in this chunk, which has an entry for each of its granules and is never
            // unmapped; entries are atomics, so that others may write to them meanwhile.
            Some((from, unsafe { std::slice::from_raw_parts(entries, (to - from) >> shift) }))
        })
    }

    /// The addresses that the origins occupy.
    pub fn range(&self) -> (usize, usize) {
        let start = self.origins.as_ptr().addr();
        (start, start + size_of_val(&self.origins))
    }
}
