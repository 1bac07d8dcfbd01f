//! Size classes: what jemalloc sets aside for a request of up to [`SMALL_MAX`] bytes.
//!
//! jemalloc's classes with 16-byte quantum are 8, then every 16 up to 128, then four to each doubling
//! (<https://jemalloc.net/jemalloc.3.html>, "Size classes"). They do not depend on the page size as long as they are
//! below four pages, and 14,336 is the largest below four pages of 4 KiB. A test holds the table to `nallocx`.

use crate::ledger::lane;

/// The largest request that is counted in the small lane, in bytes.
pub const SMALL_MAX: usize = 14_336;

/// Usable bytes and layer by (requested + 7) / 8, in the form in which a block is counted ([`lane::amount`]).
static AMOUNT: [u64; SMALL_MAX / 8 + 1] = table();

const fn table() -> [u64; SMALL_MAX / 8 + 1] {
    let mut amounts = [0; SMALL_MAX / 8 + 1];
    let mut index = 0;
    while index < amounts.len() {
        let requested = index * 8;
        amounts[index] = lane::amount(class_of(requested), requested) - requested as u64;
        index += 1;
    }
    amounts
}

const fn class_of(size: usize) -> usize {
    if size <= 8 {
        return 8;
    }
    if size <= 128 {
        return (size + 15) & !15;
    }
    // Four classes to a doubling: the spacing is an eighth of the power of two at or above the size.
    let spacing = size.next_power_of_two() / 8;
    size.div_ceil(spacing) * spacing
}

/// Usable bytes of a block of `requested` bytes at no more than the natural alignment. `requested` must be at most
/// [`SMALL_MAX`].
pub fn usable(requested: usize) -> usize {
    lane::usable(AMOUNT[(requested + 7) >> 3])
}

/// What a block of a request of so many bytes at no more than the natural alignment adds to a word of counts, still
/// without the requested bytes themselves. Its lowest six bits are the block's layer (`shadow::layer_of`).
///
/// # Safety
/// `requested` must be at most [`SMALL_MAX`].
#[inline(always)]
pub unsafe fn amount_of_class(requested: usize) -> u64 {
    debug_assert!(requested <= SMALL_MAX);
    // SAFETY: the index is at most SMALL_MAX / 8, the last of the table, as the caller promises.
    unsafe { *AMOUNT.get_unchecked((requested + 7) >> 3) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_jemallocs() {
        for size in 1..=super::SMALL_MAX {
            // SAFETY: nallocx only computes; any size from 1 to the largest class is allowed.
            let real = unsafe { tikv_jemalloc_sys::nallocx(size, 0) };
            assert_eq!(super::usable(size), real, "size {size}");
        }
        assert_eq!(super::usable(0), 8);
    }

    #[test]
    fn the_table_has_the_layers() {
        for size in 0..=super::SMALL_MAX {
            // SAFETY: the size is at most SMALL_MAX.
            let amount = unsafe { super::amount_of_class(size) };
            assert_eq!(amount as u32 & 63, crate::tag::shadow::layer_of(size), "size {size}");
            let usable = super::usable(size);
            assert_eq!(amount + size as u64, super::lane::amount(usable, size), "size {size}");
        }
    }
}
