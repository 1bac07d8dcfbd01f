//! Tables with one entry for each granule of the address space. A granule is a piece of 2^`shift` bytes. The entries
//! are kept in chunks; a chunk is mapped when the first block in it is tagged.
//!
//! ```text
//! address, for example                0x7f12_3456_7890
//! with the top bit (48) set          0x1_7f12_3456_7890
//! granule number, shift = 4           0x17f1_2345_6789  =  chunk 0x17f123, entry 0x456789 in it (2^24 entries a chunk)
//!
//! entry of a granule = origins[chunk] + granule number
//! origins[chunk]     = start of the chunk's entries - number of the chunk's first granule,
//!                      or null while no block in the chunk has been tagged
//! ```
//!
//! One table may hold several layers, whose granules have different lengths. The top bit is a bit above all addresses. It
//! is shifted together with the address, and so gives each layer granule numbers of its own. A table of one layer does without it.
//!
//! A chunk's entries are reserved as a whole, and their pages become resident when touched. Chunks are never unmapped.
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU16, Ordering};

use crate::sys;

/// Addresses are below 2^48.
const ADDRESS_BITS: u32 = 48;
/// The top bit in a table of several layers.
pub const SEVERAL_LAYERS: usize = 1 << ADDRESS_BITS;
/// In place of the top bit in a table of one layer, which does without it.
pub const ONE_LAYER: usize = 0;
/// Spare entries behind each chunk, a page of them: a tag that begins in a chunk's last granules goes on there.
const SPARE: usize = 4096 / size_of::<AtomicU16>();

/// How many origins a table needs, if its shortest granule has 2^`shift` bytes and a chunk has 2^`bits` entries. `top`: [`SEVERAL_LAYERS`] or
/// [`ONE_LAYER`].
pub const fn table(top: usize, shift: u32, bits: u32) -> usize {
    1 << (ADDRESS_BITS + (top != ONE_LAYER) as u32 - shift - bits)
}

/// A table of entries, see the module. `TOP` is [`SEVERAL_LAYERS`] or [`ONE_LAYER`]; `TABLE` is the number of origins ([`table`]); a chunk has 2^`BITS` entries.
pub struct Chunks<const TOP: usize, const TABLE: usize, const BITS: u32> {
    origins: [AtomicPtr<AtomicU16>; TABLE],
}

/// The second number if `address` is a multiple of `ALIGNMENT`, else the first. Which blocks begin at such multiples is chance, and a branch
/// would be mispredicted.
#[inline(always)]
fn either<const ALIGNMENT: usize>(address: usize, first: usize, second: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        // From `select_unpredictable` the compiler makes one shift by a number in a register, which takes three times as long.
        let mut chosen = first;
        // SAFETY: this compares two registers and moves one.
        unsafe {
            std::arch::asm!(
                "test {address:e}, {mask}", "cmovz {chosen}, {second}",
                address = in(reg) address, mask = const ALIGNMENT - 1, chosen = inout(reg) chosen, second = in(reg) second,
                options(pure, nomem, nostack),
            );
        }
        chosen
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::select_unpredictable(address.is_multiple_of(ALIGNMENT), second, first)
}

impl<const TOP: usize, const TABLE: usize, const BITS: u32> Chunks<TOP, TABLE, BITS> {
    #[allow(clippy::new_without_default, reason = "const, for statics")]
    pub const fn new() -> Self {
        Chunks { origins: [const { AtomicPtr::new(ptr::null_mut()) }; TABLE] }
    }

    /// The number of the granule of 2^`shift` bytes at `address`.
    #[inline(always)]
    const fn granule(address: usize, shift: u32) -> usize {
        (address | TOP).wrapping_shr(shift)
    }

    /// The entry of `address`'s granule of 2^`shift` bytes; `None` when its chunk is not mapped.
    #[inline(always)]
    pub fn find(&self, address: usize, shift: u32) -> Option<*mut AtomicU16> {
        // At an address beyond the table, no block can start.
        let origin = self.origins.get(Self::granule(address, shift) >> BITS)?;
        Self::entry(origin, Self::granule(address, shift))
    }

    /// [`Chunks::find`] without the check that the address lies within the table. Only the lowest six bits of `shift`
    /// count.
    ///
    /// # Safety
    /// `address` must be one that the kernel gives to programs: below 2^48. `shift` must be at least that of the
    /// table's shortest granule.
    #[inline(always)]
    pub unsafe fn find_block(&self, address: usize, shift: u32) -> Option<*mut AtomicU16> {
        debug_assert!(Self::granule(address, shift) >> BITS < TABLE);
        // SAFETY: `table` gives an origin to every granule below 2^48 of the shortest length and longer; the caller
        // promises that address and shift keep to that.
        let origin = unsafe { self.origins.get_unchecked(Self::granule(address, shift) >> BITS) };
        Self::entry(origin, Self::granule(address, shift))
    }

    /// [`Chunks::find_block`] with the longer of two granules for addresses that are multiples of `ALIGNMENT`, a power of two, and with the
    /// shorter one for others.
    ///
    /// # Safety
    /// As for [`Chunks::find_block`].
    #[inline(always)]
    pub unsafe fn find_block_by<const ALIGNMENT: usize>(
        &self,
        address: usize,
        [shorter, longer]: [u32; 2],
    ) -> Option<*mut AtomicU16> {
        let granule = either::<ALIGNMENT>(address, Self::granule(address, shorter), Self::granule(address, longer));
        debug_assert!(granule >> BITS < TABLE);
        // SAFETY: as for `find_block`.
        let origin = unsafe { self.origins.get_unchecked(granule >> BITS) };
        Self::entry(origin, granule)
    }

    /// The entry of a granule, whose chunk has this origin.
    #[inline(always)]
    fn entry(origin: &AtomicPtr<AtomicU16>, granule: usize) -> Option<*mut AtomicU16> {
        let origin = origin.load(Ordering::Acquire);
        (!origin.is_null()).then(|| origin.wrapping_add(granule))
    }

    /// The entry of `address`'s granule of 2^`shift` bytes, mapping its chunk if that is not mapped yet. `None` when
    /// the kernel gives no memory.
    pub fn find_or_map(&self, address: usize, shift: u32) -> Option<*mut AtomicU16> {
        self.find(address, shift).or_else(|| self.map(address, shift))
    }

    #[cold]
    fn map(&self, address: usize, shift: u32) -> Option<*mut AtomicU16> {
        let chunk = Self::granule(address, shift) >> BITS;
        let origin = self.origins.get(chunk)?;
        let bytes = ((1 << BITS) + SPARE) * size_of::<AtomicU16>();
        let fresh = sys::map_zeroed(bytes).cast::<AtomicU16>();
        if fresh.is_null() {
            return None;
        }
        let start = fresh.wrapping_sub(chunk << BITS);
        // An origin of null would mean that the chunk is not mapped. (No kernel chooses the address that leads to it.)
        if start.is_null()
            || origin.compare_exchange(ptr::null_mut(), start, Ordering::AcqRel, Ordering::Acquire).is_err()
        {
            // SAFETY: the range is that of `map_zeroed` above, and its address was not installed.
            unsafe { sys::unmap(fresh.cast(), bytes) };
        }
        self.find(address, shift)
    }

    /// The addresses that the origins occupy.
    pub fn range(&self) -> (usize, usize) {
        let start = self.origins.as_ptr().addr();
        (start, start + size_of_val(&self.origins))
    }
}
