//! How many bytes of the allocator's mappings are resident, counted again and again while they grow.
//!
//! A whole count asks `mincore` for every page. A quick one leaves out blocks of 512 pages that were all resident before:
//! as long as the process's resident set does not shrink, they still are. That takes a tenth of the time, since most of
//! what an allocator has touched is full blocks. What it cannot see are pages that the allocator gave back while the
//! process took as many elsewhere; the next whole count does.
use super::resident::each_portion;
use super::smaps::Range;
use crate::sys::page_bytes;

/// So many pages are a block.
const BLOCK: usize = 512;
/// The resident set has shrunk when it is below the largest one by more than 1 part in this.
const SHRUNK: u64 = 512;

/// The blocks that were full.
#[derive(Debug, Default)]
pub struct Touched {
    /// In order, and not adjacent.
    full: Vec<Range>,
    /// The largest resident set of the process since the last whole count.
    most_rss: u64,
}

impl Touched {
    /// Resident bytes of `ranges`, which are in order: all of their pages are looked at. `rss` is the process's resident
    /// set.
    pub fn whole(&mut self, ranges: &[Range], rss: u64) -> u64 {
        self.full.clear();
        self.most_rss = rss;
        self.count(ranges)
    }

    /// The same, without the blocks that were full at the count before. A whole count if the resident set has shrunk.
    pub fn quick(&mut self, ranges: &[Range], rss: u64) -> u64 {
        self.most_rss = self.most_rss.max(rss);
        if rss + rss / SHRUNK < self.most_rss { self.whole(ranges, rss) } else { self.count(ranges) }
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
        touch(BLOCK..BLOCK * 5 / 2);
        assert_eq!(touched.quick(&ranges, 1_000), (BLOCK * 3 / 2 * page) as u64);
        assert_eq!(touched.full, [Range { start: start + BLOCK * page, end: start + 2 * BLOCK * page }]);
        touch(BLOCK * 5 / 2..3 * BLOCK);
        touch(0..1);
        assert_eq!(touched.quick(&ranges, 1_000), ((2 * BLOCK + 1) * page) as u64);
        assert_eq!(touched.full, [Range { start: start + BLOCK * page, end: start + 3 * BLOCK * page }]);
        // A mapping that has become two, without the first page and a page in the middle of what was full.
        let two = [start + page..start + 2 * BLOCK * page, start + (2 * BLOCK + 1) * page..ranges[0].end];
        assert_eq!(touched.quick(&two, 1_000), ((2 * BLOCK - 1) * page) as u64);
    }

    /// The pages go back to the kernel. A count that leaves them out is right again when the resident set is seen to shrink.
    #[test]
    fn a_process_that_shrinks_is_counted_as_a_whole() {
        let bytes = 2 * BLOCK * page_bytes();
        let mapping = crate::sys::map_zeroed(bytes);
        // SAFETY: the mapping has so many bytes, and it is this test's own.
        unsafe { mapping.write_bytes(1, bytes) };
        let ranges = [Range { start: mapping.addr(), end: mapping.addr() + bytes }];
        let mut touched = Touched::default();
        assert_eq!(touched.whole(&ranges, 1_024), bytes as u64);
        // SAFETY: as above; nothing refers to what the pages hold.
        assert_eq!(unsafe { libc::madvise(mapping.cast(), bytes, libc::MADV_DONTNEED) }, 0);
        assert_eq!(touched.quick(&ranges, 1_023), bytes as u64, "not by more than 1 part in 512");
        assert_eq!(touched.quick(&ranges, 1_000), 0);
        assert_eq!(touched.quick(&ranges, 1_000), 0);
    }
}
