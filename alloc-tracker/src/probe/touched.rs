//! How many bytes of the allocator's mappings are resident, counted again and again while they grow.
//!
//! A whole count asks `mincore` for every page. A quick one leaves out blocks of 128 pages that were all resident before,
//! and takes a quarter of the time, since most of what an allocator has touched is full blocks. It cannot see pages that the
//! allocator gave back, nor mappings that are new. So it is held against the kernel's sum of all anonymous pages: since the
//! count before, both must have grown by about as much.
use super::resident::each_portion;
use super::smaps::Range;
use crate::sys::page_bytes;

/// So many pages are a block.
const BLOCK: usize = 128;
/// Two growths are about as much when they differ by at most 1 part in this of the anonymous pages.
const SAME: u64 = 512;

/// The blocks that were full.
#[derive(Debug, Default)]
pub struct Touched {
    /// In order, and not adjacent.
    full: Vec<Range>,
    base: Option<Base>,
}

/// What quick counts are held against, in bytes.
#[derive(Clone, Copy, Debug)]
struct Base {
    /// A count that was right.
    touched: u64,
    /// The process's anonymous pages at the time.
    anonymous: u64,
}

/// What a quick count has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quick {
    /// So many bytes are resident.
    Right(u64),
    /// There are more other anonymous pages than before: in new mappings of the allocator's, or not in the allocator's.
    Elsewhere,
    /// A whole count is needed: the allocator has given pages back, or there was none yet.
    Wrong,
}

impl Touched {
    /// Resident bytes of `ranges`, which are in order: all of their pages are looked at. `anonymous` are the process's
    /// anonymous pages in bytes.
    pub fn whole(&mut self, ranges: &[Range], anonymous: u64) -> u64 {
        self.full.clear();
        self.begin_again(ranges, anonymous)
    }

    /// The same, without the blocks that were full at the count before, for the caller who knows where the other anonymous
    /// pages are from.
    pub fn begin_again(&mut self, ranges: &[Range], anonymous: u64) -> u64 {
        let touched = self.count(ranges);
        self.base = Some(Base { touched, anonymous });
        touched
    }

    /// The same, held against `anonymous`.
    pub fn quick(&mut self, ranges: &[Range], anonymous: u64) -> Quick {
        let Some(base) = self.base else { return Quick::Wrong };
        let touched = self.count(ranges);
        let (grown, expected) = (touched + base.anonymous, base.touched + anonymous);
        match grown.abs_diff(expected) <= anonymous / SAME {
            true => Quick::Right(touched),
            false if grown < expected => Quick::Elsewhere,
            false => Quick::Wrong,
        }
    }

    fn count(&mut self, ranges: &[Range]) -> u64 {
        let mut known = std::mem::take(&mut self.full).into_iter().peekable();
        let mut bytes = 0;
        for range in ranges {
            let mut start = range.start;
            while start < range.end {
                while known.next_if(|full| full.end <= start).is_some() {}
                match known.peek() {
                    Some(full) if full.start <= start && full.end <= range.end => {
                        let full = start..full.end;
                        (bytes, start) = (bytes + full.len(), full.end);
                        self.is_full(full);
                    }
                    Some(full) if start < full.start && full.start < range.end => {
                        let end = full.start;
                        bytes += self.look(start..end);
                        start = end;
                    }
                    _ => {
                        bytes += self.look(start..range.end);
                        start = range.end;
                    }
                }
            }
        }
        bytes as u64
    }

    /// Resident bytes of a range, whose full blocks are noted.
    fn look(&mut self, range: Range) -> usize {
        let page = page_bytes();
        let mut resident = 0;
        each_portion(&range, |start, pages| {
            for (index, block) in pages.chunks(BLOCK).enumerate() {
                let here = block.iter().map(|byte| usize::from(byte & 1)).sum::<usize>();
                resident += here;
                if here == BLOCK {
                    let start = start + index * BLOCK * page;
                    self.is_full(start..start + BLOCK * page);
                }
            }
        });
        resident * page
    }

    fn is_full(&mut self, range: Range) {
        match self.full.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.full.push(range),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four blocks, of which the second and half of the third are touched first, and then all of the third.
    #[test]
    fn a_quick_count_sees_what_was_added() {
        let (page, pages) = (page_bytes(), 4 * BLOCK);
        let mapping = crate::sys::map_zeroed(pages * page);
        // SAFETY: the mapping has so many pages, and it is this test's own.
        let touch =
            |pages: std::ops::Range<usize>| pages.for_each(|index| unsafe { mapping.add(index * page).write(1) });
        let start = mapping.addr();
        let ranges = [Range { start, end: start + pages * page }];
        let mut touched = Touched::default();
        let bytes = |pages: usize| (pages * page) as u64;
        assert_eq!(touched.quick(&ranges, bytes(9 * BLOCK)), Quick::Wrong, "there was no whole count");
        touch(BLOCK..BLOCK * 5 / 2);
        assert_eq!(touched.whole(&ranges, bytes(9 * BLOCK)), bytes(BLOCK * 3 / 2));
        assert_eq!(touched.full, [Range { start: start + BLOCK * page, end: start + 2 * BLOCK * page }]);
        touch(BLOCK * 5 / 2..3 * BLOCK);
        touch(0..1);
        assert_eq!(touched.quick(&ranges, bytes(9 * BLOCK + BLOCK / 2 + 1)), Quick::Right(bytes(2 * BLOCK + 1)));
        assert_eq!(touched.full, [Range { start: start + BLOCK * page, end: start + 3 * BLOCK * page }]);
        // A mapping that has become two, without the first page and a page in the middle of what was full.
        let two = [start + page..start + 2 * BLOCK * page, start + (2 * BLOCK + 1) * page..ranges[0].end];
        assert_eq!(touched.quick(&two, bytes(9 * BLOCK + BLOCK / 2)), Quick::Right(bytes(2 * BLOCK - 1)));
    }

    /// The pages go back to the kernel, so a count that leaves them out is wrong. The anonymous pages of the process say
    /// so, even when half as many were touched elsewhere.
    #[test]
    fn pages_that_were_given_back_need_a_whole_count() {
        let bytes = 2 * BLOCK * page_bytes();
        let mapping = crate::sys::map_zeroed(bytes);
        // SAFETY: the mapping has so many bytes, and it is this test's own.
        unsafe { mapping.write_bytes(1, bytes) };
        let ranges = [Range { start: mapping.addr(), end: mapping.addr() + bytes }];
        let (mut touched, bytes) = (Touched::default(), bytes as u64);
        assert_eq!(touched.whole(&ranges, 8 * bytes), bytes);
        // SAFETY: as above; nothing refers to what the pages hold.
        assert_eq!(unsafe { libc::madvise(mapping.cast(), bytes as usize, libc::MADV_DONTNEED) }, 0);
        assert_eq!(touched.quick(&ranges, 7 * bytes + bytes / 2), Quick::Wrong);
        assert_eq!(touched.whole(&ranges, 7 * bytes), 0);
        assert_eq!(touched.quick(&ranges, 7 * bytes), Quick::Right(0));
        // 1 part in 512 of 7 x 2 x 128 pages is 3 pages and a half.
        let more = |pages: u64| 7 * bytes + pages * page_bytes() as u64;
        assert_eq!([3, 4].map(|pages| touched.quick(&ranges, more(pages))), [Quick::Right(0), Quick::Elsewhere]);
        assert_eq!(touched.begin_again(&ranges, more(4)), 0);
        assert_eq!(touched.quick(&ranges, more(7)), Quick::Right(0));
    }
}
