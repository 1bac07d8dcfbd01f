//! The bin of a block, told by the block's page.
//!
//! A free through C's door is told no size. The block's tag says it, but the tag is often in no cache; and until the processor knows
//! which bin the block went to, it cannot know what the allocations after it read from bins. jemalloc keeps blocks of one class
//! together in pages of their own. So the bin of the last block that was freed in a page is nearly always that of the next. The
//! processor goes on with it, and compares it with the bin that the tag says when the tag has come.
use std::sync::atomic::{AtomicU8, Ordering};

/// Pages of 4 KiB; where jemalloc's are larger, each of them is several of these.
const PAGE: usize = 4096;
/// How many pages have an entry of their own: those of 4 GiB. Pages that are so far apart share one.
const PAGES: usize = 1 << 20;

/// The place of the bin to which the last block of a page went, as [`place_of_bin`](crate::backend::thread_cache::place_of_bin) gives
/// it; 0 when there was none.
static LAST: [AtomicU8; PAGES] = [const { AtomicU8::new(0) }; PAGES];

/// `place`, which is that of the bin of the block at `address`. Where the last block of that page had the same bin, nothing that uses
/// the result waits for `place`.
#[inline(always)]
pub fn known_early(address: usize, place: u8) -> u8 {
    let last = &LAST[address / PAGE % PAGES];
    let early = last.load(Ordering::Relaxed);
    if differ(early, place) {
        last.store(place, Ordering::Relaxed);
        return place;
    }
    early
}

/// Whether the two differ. The compiler learns nothing by it; behind a comparison of its own, it may take `place` for `early`, and
/// would have the result of [`known_early`] wait for it.
#[inline(always)]
fn differ(early: u8, place: u8) -> bool {
    // SAFETY: this compares two registers.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "cmp {early}, {place}", "jne {differ}",
            early = in(reg_byte) early, place = in(reg_byte) place, differ = label { return true },
            options(nomem, nostack),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "cmp {early:w}, {place:w}", "b.ne {differ}",
            early = in(reg) u32::from(early), place = in(reg) u32::from(place), differ = label { return true },
            options(nomem, nostack),
        );
    }
    cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64"))) && early != place
}

/// The addresses that the table occupies.
pub fn range() -> (usize, usize) {
    let start = LAST.as_ptr().addr();
    (start, start + size_of_val(&LAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the page had last, and whichever page shares its entry, what comes back is what was passed.
    #[test]
    fn it_is_the_place_that_was_passed() {
        let page = (PAGES - 1) * PAGE;
        for address in [page, page + 4095, page + PAGES * PAGE, page + 16] {
            for place in [5, 5, 8, 110, 110] {
                assert_eq!(known_early(address, place), place);
                assert_eq!(LAST[PAGES - 1].load(Ordering::Relaxed), place);
            }
        }
    }
}
