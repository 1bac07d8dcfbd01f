//! Size classes: how many bytes jemalloc's block has for a request of up to [`SMALL_MAX`] bytes.
//!
//! With a quantum of 16 bytes, jemalloc's classes are 8, then every multiple of 16 up to 128, then four to each
//! doubling (<https://jemalloc.net/jemalloc.3.html>, "Size classes"). Classes below four pages do not depend on the
//! page size, and 14,336 is the largest below four pages of 4 KiB. A test compares the table with `nallocx`.
use super::word::{self, SMALL_MAX};
use crate::backend::thread_cache::place_of_bin;

/// What the hot path must know of a size.
#[derive(Clone, Copy)]
struct Class {
    /// What a block adds to a count word ([`word::amount`]), less its requested bytes.
    amount: u64,
    /// Where the class has its bin in jemalloc's cache of a thread.
    place: u8,
}

/// The smallest pages that jemalloc is built for.
const SMALLEST_PAGE: usize = 4096;
const INDICES: usize = SMALL_MAX / 8 + 1;
/// The index is (requested + 7) / 8: all requests with one index have the same class and the same layer.
static TABLE: [Class; INDICES] = table();

const fn table() -> [Class; INDICES] {
    let mut table = [Class { amount: 0, place: 0 }; INDICES];
    let (mut index, mut class) = (0, 0);
    while index < INDICES {
        let requested = index * 8;
        if index > 0 && class_of(requested) != class_of(requested - 8) {
            class += 1;
        }
        let amount = word::amount(class_of(requested), requested) - requested as u64;
        table[index] = Class { amount, place: place_of_bin(class) };
        index += 1;
    }
    table
}

const fn class_of(size: usize) -> usize {
    if size <= 8 {
        return 8;
    }
    if size <= 128 {
        return (size + 15) & !15;
    }
    // With four classes to a doubling, they are an eighth of the next power of two apart.
    let spacing = size.next_power_of_two() / 8;
    size.div_ceil(spacing) * spacing
}

/// Usable bytes of jemalloc's block for a request of `requested` bytes at natural alignment.
///
/// # Panics
/// When `requested` is above [`SMALL_MAX`].
pub fn usable(requested: usize) -> usize {
    word::usable(TABLE[(requested + 7) >> 3].amount)
}

/// Usable bytes of jemalloc's block for a request of `requested` bytes at an alignment, which is a power of two; `None` where the table does
/// not tell. (jemalloc 5.3.1, `sz_sa2u`: up to an alignment of a page, a small block is of the class of the request rounded up to the alignment.)
pub fn usable_aligned(alignment: usize, requested: usize) -> Option<usize> {
    let rounded = requested.max(1).checked_next_multiple_of(alignment)?;
    (alignment <= SMALLEST_PAGE && rounded <= SMALL_MAX).then(|| usable(rounded))
}

/// Whether a block of `usable` bytes is of the size class that its request gets at natural alignment.
pub fn is_plain(requested: usize, usable: usize) -> bool {
    requested <= SMALL_MAX && usable == self::usable(requested)
}

/// What a block of natural alignment adds to a count word ([`word::amount`]), less its requested bytes. The lowest six
/// bits are a shift: that of the layer in which the block's tag stands if the block's free will tell its size.
///
/// # Safety
/// `requested` must be at most [`SMALL_MAX`].
#[inline(always)]
pub unsafe fn amount_of_class(requested: usize) -> u64 {
    debug_assert!(requested <= SMALL_MAX);
    // SAFETY: the caller promises at most SMALL_MAX bytes, so the index is at most SMALL_MAX / 8, the table's last.
    unsafe { TABLE.get_unchecked((requested + 7) >> 3) }.amount
}

/// Where jemalloc's cache of a thread has the blocks of 8 bytes, or of 16 ([`place_of_bin`]).
pub const fn place_of_tiny(usable: usize) -> u8 {
    assert!(usable == 8 || usable == 16);
    place_of_bin(usable / 16)
}

/// Where jemalloc's cache of a thread has the blocks of a request's class ([`place_of_bin`]).
///
/// # Safety
/// `requested` must be at most [`SMALL_MAX`].
#[inline(always)]
pub unsafe fn place_of_class(requested: usize) -> u8 {
    debug_assert!(requested <= SMALL_MAX);
    // SAFETY: as in `amount_of_class`.
    unsafe { TABLE.get_unchecked((requested + 7) >> 3) }.place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_jemallocs() {
        for size in 1..=SMALL_MAX {
            // SAFETY: nallocx only computes; any size from 1 to the largest class is allowed.
            let real = unsafe { tikv_jemalloc_sys::nallocx(size, 0) };
            assert_eq!(usable(size), real, "size {size}");
        }
        assert_eq!(usable(0), 8);
    }

    #[test]
    fn aligned_blocks_are_jemallocs() {
        for bits in 5..=13 {
            for size in (1..=SMALL_MAX + 4096).step_by(7) {
                // SAFETY: nallocx only computes; the alignment is 2^bits.
                let real = unsafe { tikv_jemalloc_sys::nallocx(size, bits) };
                let told = usable_aligned(1 << bits, size);
                assert!(told.is_none_or(|told| told == real), "{size} at 2^{bits}: {told:?}, {real}");
                assert_eq!(
                    told.is_some(),
                    bits <= 12 && size.next_multiple_of(1 << bits) <= SMALL_MAX,
                    "{size} at 2^{bits}"
                );
            }
        }
    }

    #[test]
    fn the_table_has_the_layers() {
        for size in 0..=SMALL_MAX {
            // SAFETY: the size is at most SMALL_MAX.
            let amount = unsafe { amount_of_class(size) };
            assert_eq!(amount as u32 & 63, word::layer_of(size), "size {size}");
            assert_eq!(amount + size as u64, word::amount(usable(size), size), "size {size}");
        }
    }

    /// A slab of jemalloc's has blocks of one class, side by side from the start of a page: in the layer of the class, each has
    /// two entries of its own.
    #[test]
    fn plain_blocks_share_no_entry() {
        for size in 113..=SMALL_MAX {
            let (usable, layer) = (usable(size), word::layer_of(size));
            for block in 0..512 {
                let [this, next] = [block, block + 1].map(|number| (number * usable) >> layer);
                assert!(this + 2 <= next, "size {size}, block {block}");
            }
        }
    }

    /// jemalloc numbers its classes from the smallest on.
    #[test]
    fn the_places_are_in_the_order_of_the_classes() {
        let mut classes: Vec<usize> = (1..=SMALL_MAX).map(usable).collect();
        classes.dedup();
        for (class, &usable) in classes.iter().enumerate() {
            // SAFETY: the class's size is at most SMALL_MAX.
            assert_eq!(unsafe { place_of_class(usable) }, place_of_bin(class), "class {class}: {usable}");
        }
    }
}
