//! Layers of entries for every granule of the address space, in chunks that are mapped when the first block in them is
//! tagged.
//!
//! ```text
//! address  0x7f12_3456_7890
//!            \____/\______/
//!            chunk  place in the chunk of 256 MiB
//!
//! origins[chunk][layer] -> where the entry of address 0 would stand, if the layer's entries went on that far; so the
//!                          entry of an address is found by the number of its granule. Null: no block in the chunk was
//!                          ever ours.
//! ```
//!
//! A granule of layer 0 is 2^`FIRST` bytes, and that of each further layer four times as long. A chunk's entries are reserved at
//! once and resident where touched. They are never given back.
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU16, Ordering};

use crate::sys;

const CHUNK_SHIFT: u32 = 28;
const ADDRESS_BITS: u32 = 48;
const CHUNK_COUNT: usize = 1 << (ADDRESS_BITS - CHUNK_SHIFT);
/// A block at the very end of a chunk has entries behind it: one page of spare ones.
const SPARE: usize = 4096 / size_of::<AtomicU16>();

/// See the module.
pub struct Chunks<const LAYERS: usize, const FIRST: usize> {
    origins: [[AtomicPtr<AtomicU16>; LAYERS]; CHUNK_COUNT],
}

/// How far an address is shifted to give the number of its granule.
#[inline(always)]
const fn shift(first: usize, layer: usize) -> usize {
    first + 2 * layer
}

impl<const LAYERS: usize, const FIRST: usize> Chunks<LAYERS, FIRST> {
    /// Bytes of a granule of layer 0.
    pub const GRANULE: usize = 1 << FIRST;

    #[allow(clippy::new_without_default, reason = "const, for statics")]
    pub const fn new() -> Self {
        Chunks { origins: [const { [const { AtomicPtr::new(ptr::null_mut()) }; LAYERS] }; CHUNK_COUNT] }
    }

    /// The entry of `address`'s granule in `layer`; `None` when no block near it was ever ours.
    #[inline(always)]
    pub fn find(&self, address: usize, layer: usize) -> Option<*mut AtomicU16> {
        // An address beyond the table is nobody's.
        Self::entry(&self.origins.get(address >> CHUNK_SHIFT)?[layer], address, layer)
    }

    /// [`Chunks::find`] without a look at whether the address is a possible one.
    ///
    /// # Safety
    /// `address` must be one that the kernel gives to programs: below 2^48. `layer` must be below `LAYERS`.
    #[inline(always)]
    pub unsafe fn find_block(&self, address: usize, layer: usize) -> Option<*mut AtomicU16> {
        debug_assert!(layer < LAYERS);
        // SAFETY: the address has 48 bits, as the caller promises, and there are origins for each of their chunks.
        let origin = unsafe { self.origins.get_unchecked(address >> CHUNK_SHIFT).get_unchecked(layer) };
        Self::entry(origin, address, layer)
    }

    /// `origin` is that of the address's chunk and the layer.
    #[inline(always)]
    fn entry(origin: &AtomicPtr<AtomicU16>, address: usize, layer: usize) -> Option<*mut AtomicU16> {
        let origin = origin.load(Ordering::Acquire);
        (!origin.is_null()).then(|| origin.wrapping_add(address >> shift(FIRST, layer)))
    }

    /// The entry of `address`'s granule in `layer`, mapping its chunk when it is not there yet. `None` when the kernel
    /// gives no memory.
    pub fn find_or_map(&self, address: usize, layer: usize) -> Option<*mut AtomicU16> {
        self.find(address, layer).or_else(|| self.map(address, layer))
    }

    #[cold]
    fn map(&self, address: usize, layer: usize) -> Option<*mut AtomicU16> {
        let number = address >> CHUNK_SHIFT;
        let origin = &self.origins.get(number)?[layer];
        let bytes = ((1 << CHUNK_SHIFT >> shift(FIRST, layer)) + SPARE) * size_of::<AtomicU16>();
        let fresh = sys::map_zeroed(bytes).cast::<AtomicU16>();
        if fresh.is_null() {
            return None;
        }
        let start = fresh.wrapping_sub((number << CHUNK_SHIFT) >> shift(FIRST, layer));
        // An origin of null would say that nothing is mapped; no kernel maps there of its own choice.
        if start.is_null()
            || origin.compare_exchange(ptr::null_mut(), start, Ordering::AcqRel, Ordering::Acquire).is_err()
        {
            sys::unmap(fresh.cast(), bytes);
        }
        self.find(address, layer)
    }

    /// The entries in layer 0 of the addresses `start..end`, in pieces that lie together, with the address of the first of
    /// each.
    pub fn entries(&'static self, start: usize, end: usize) -> impl Iterator<Item = (usize, &'static [AtomicU16])> {
        let first = start >> CHUNK_SHIFT;
        (first..=end.saturating_sub(1) >> CHUNK_SHIFT).filter_map(move |chunk| {
            let from = start.max(chunk << CHUNK_SHIFT);
            let to = end.min((chunk + 1) << CHUNK_SHIFT);
            let entries = self.find(from, 0)?;
            // SAFETY: `from` and `to` lie in this chunk, which has an entry for each of its granules and is never
            // unmapped; entries are atomics, so that others may write to them meanwhile.
            Some((from, unsafe { std::slice::from_raw_parts(entries, (to - from) >> FIRST) }))
        })
    }

    /// The addresses that the origins occupy.
    pub fn range(&self) -> (usize, usize) {
        let start = self.origins.as_ptr().addr();
        (start, start + size_of_val(&self.origins))
    }
}
