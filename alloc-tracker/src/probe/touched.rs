//! How many bytes of the allocator's mappings are resident, counted again and again while they grow.
//!
//! The mappings are known in *parts*: blocks of some pages, and rows of blocks that were full. A count looks at pages, which
//! means that it asks `mincore` for them, and takes the other parts as they were:
//!
//! ```text
//! whole count   looks at all pages
//! wide count    looks at all parts that are not full
//! quick count   looks at those of them that are lively: that have changed when they were last looked at, or hold blocks that
//!               the program has allocated since one of the latest counts
//! ```
//!
//! Most pages are in full parts, or belong to blocks that the program has not touched to their ends, and will not; so a quick
//! count looks at few. It and a wide one cannot see pages that the allocator gave back, nor mappings that are new. So they are
//! held against the kernel's sum of all anonymous pages: since a count that was right, both must have grown by about as much.
use super::places::Places;
use super::resident::each_portion;
use super::smaps::Range;
use crate::sys::page_bytes;

/// So many pages are a block of a part.
const BLOCK: usize = 128;
/// A new block is lively for so many counts: a program may take longer to fill it.
const FRESH: u32 = 8;
/// Two growths are about as much when they differ by at most 1 part in this of the anonymous pages.
const SAME: u64 = 512;

/// What is known from the counts so far.
#[derive(Debug, Default)]
pub struct Touched {
    /// In order.
    parts: Vec<Part>,
    base: Option<Base>,
    /// Where the blocks are that were new at one of the latest counts, and at how many counts more they are lively.
    fresh: Vec<(Range, u32)>,
}

/// A part of the mappings.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    range: Range,
    /// Resident bytes when it was last looked at.
    resident: usize,
    /// Whether they were others than at the look before.
    has_changed: bool,
}

/// What counts are held against, in bytes.
#[derive(Clone, Copy, Debug)]
struct Base {
    /// A count that was right.
    touched: u64,
    /// The process's anonymous pages at the time.
    anonymous: u64,
}

/// What a count has found that did not look at all pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// So many bytes are resident.
    Right(u64),
    /// So many are, and there are more other anonymous pages than before: in parts that the count has not looked at, in new
    /// mappings of the allocator's, or not in the allocator's.
    Elsewhere(u64),
    /// The allocator has given pages back, or there was no whole count yet.
    Wrong,
}

/// Which parts a count looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Lively,
    NotFull,
    All,
}

impl Touched {
    /// Where the program has allocated blocks since the count before.
    pub fn told(&mut self, places: impl Iterator<Item = Range>) {
        self.fresh.extend(places.map(|place| (place, FRESH)));
    }

    /// Resident bytes of `ranges`, which are in order: all of their pages are looked at. `anonymous` are the process's
    /// anonymous pages in bytes.
    pub fn whole(&mut self, ranges: &[Range], anonymous: u64) -> u64 {
        let touched = self.count(ranges, Look::All);
        self.is_right(touched, anonymous);
        touched
    }

    /// The same by a quick count, held against `anonymous`.
    pub fn quick(&mut self, ranges: &[Range], anonymous: u64) -> Found {
        self.held_against(anonymous, ranges, Look::Lively)
    }

    /// The same by a wide count.
    pub fn wide(&mut self, ranges: &[Range], anonymous: u64) -> Found {
        self.held_against(anonymous, ranges, Look::NotFull)
    }

    /// Counts, and says what is to be thought of it. Where there is nothing to hold a count against, none is made.
    fn held_against(&mut self, anonymous: u64, ranges: &[Range], look: Look) -> Found {
        let Some(base) = self.base else { return Found::Wrong };
        let touched = self.count(ranges, look);
        let (grown, expected) = (touched + base.anonymous, base.touched + anonymous);
        match grown.abs_diff(expected) <= anonymous / SAME {
            true => Found::Right(touched),
            false if grown < expected => Found::Elsewhere(touched),
            false => Found::Wrong,
        }
    }

    /// What the latest count has found, `touched`, is right: its caller knows where the other anonymous pages are from.
    pub fn is_right(&mut self, touched: u64, anonymous: u64) {
        self.base = Some(Base { touched, anonymous });
    }

    fn count(&mut self, ranges: &[Range], look: Look) -> u64 {
        let before = std::mem::take(&mut self.parts);
        let fresh = Places::new(self.fresh.iter().map(|(place, _)| place.clone()).collect());
        let mut counted = Counting { before: &before, parts: Vec::with_capacity(before.len() + 16) };
        for range in ranges {
            let mut start = range.start;
            while start < range.end {
                start = match counted.kept(start, range.end, |part| look.skips(part, &fresh)) {
                    Ok(end) => end,
                    Err(end) => counted.look(start..end),
                };
            }
        }
        self.parts = counted.parts;
        let parts = &self.parts;
        self.fresh.iter_mut().for_each(|(_, counts)| *counts -= 1);
        self.fresh.retain(|(place, counts)| *counts > 0 && !is_in_full_part(parts, place));
        self.parts.iter().map(|part| part.resident as u64).sum()
    }
}

fn is_in_full_part(parts: &[Part], place: &Range) -> bool {
    let part = parts.get(parts.partition_point(|part| part.range.end <= place.start));
    part.is_some_and(|part| part.is_full() && part.range.start <= place.start && place.end <= part.range.end)
}

impl Look {
    /// Whether a part is taken as it was. `fresh` are the places of blocks that are new.
    fn skips(self, part: &Part, fresh: &Places) -> bool {
        match self {
            Look::Lively => part.is_full() || !(part.has_changed || fresh.meet(&part.range)),
            Look::NotFull => part.is_full(),
            Look::All => false,
        }
    }
}

impl Part {
    fn is_full(&self) -> bool {
        self.resident == self.range.len()
    }
}

/// A count under way.
struct Counting<'a> {
    /// What is left of the parts before: those that do not end below the place that the count has reached.
    before: &'a [Part],
    /// The parts so far.
    parts: Vec<Part>,
}

impl Counting<'_> {
    /// Takes the part that begins at `start` as it was, if there is one that ends by `end` and that `skips` names, and returns its end. As an
    /// error: how far the pages must be looked at.
    fn kept(&mut self, start: usize, end: usize, skips: impl Fn(&Part) -> bool) -> Result<usize, usize> {
        let gone = self.before.partition_point(|part| part.range.end <= start);
        self.before = &self.before[gone..];
        // A piece of a row of full blocks is full as well; of another part nobody knows.
        let begins = |part: &&Part| part.range.start == start || (part.is_full() && part.range.start < start);
        match self.before.first().filter(begins) {
            Some(part) if part.range.end <= end && skips(part) => {
                let range = start..part.range.end;
                let resident = if part.is_full() { range.len() } else { part.resident };
                self.push(Part { range, resident, has_changed: part.has_changed });
                Ok(part.range.end)
            }
            _ => {
                let is_next = |part: &&Part| part.range.start > start && part.range.end <= end && skips(part);
                let next = self.before.iter().take_while(|part| part.range.start < end).find(is_next);
                Err(next.map_or(end, |part| part.range.start))
            }
        }
    }

    /// Looks at the pages of `range`, and returns its end.
    fn look(&mut self, range: Range) -> usize {
        // Portions and blocks begin at multiples of their sizes, so that a block that is looked at again is the same.
        let (end, block_bytes) = (range.end, BLOCK * page_bytes());
        each_portion(&range, |start, pages| {
            let (mut start, mut pages) = (start, pages);
            while !pages.is_empty() {
                let here = ((start / block_bytes + 1) * block_bytes - start) / page_bytes();
                let (block, others) = pages.split_at(here.min(pages.len()));
                let resident = block.iter().map(|byte| usize::from(byte & 1)).sum::<usize>() * page_bytes();
                let range = start..start + block.len() * page_bytes();
                (start, pages) = (range.end, others);
                let has_changed = self.had(&range).map_or(resident > 0, |before| before != resident);
                self.push(Part { range, resident, has_changed });
            }
        });
        end
    }

    /// How many resident bytes the part `range` had before; `None` if that was no part.
    fn had(&self, range: &Range) -> Option<usize> {
        let found = self.before.binary_search_by_key(&range.start, |part| part.range.start).ok()?;
        Some(&self.before[found]).filter(|part| part.range == *range).map(|part| part.resident)
    }

    fn push(&mut self, part: Part) {
        match self.parts.last_mut() {
            Some(last) if last.is_full() && part.is_full() && last.range.end == part.range.start => {
                last.range.end = part.range.end;
                last.resident += part.resident;
            }
            _ => self.parts.push(part),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mapping of so many pages that begins with a block, and what touches some of them.
    fn mapping(pages: usize) -> (Range, impl Fn(Range)) {
        let (page, block) = (page_bytes(), BLOCK * page_bytes());
        let start = crate::sys::map_zeroed(pages * page + block);
        let start = start.map_addr(|address| address.next_multiple_of(block));
        // SAFETY: the mapping has so many pages, and it is the test's own.
        let touch = move |pages: Range| pages.for_each(|index| unsafe { start.add(index * page).write(1) });
        (start.addr()..start.addr() + pages * page, touch)
    }

    fn bytes(pages: usize) -> u64 {
        (pages * page_bytes()) as u64
    }

    /// Pages of `mapping`.
    fn pages_of(mapping: &Range, pages: Range) -> Range {
        mapping.start + pages.start * page_bytes()..mapping.start + pages.end * page_bytes()
    }

    /// Four blocks, of which the second and half of the third are touched first. The third has just changed, and there is a
    /// new block of the program's in the first one.
    #[test]
    fn a_quick_count_sees_what_was_added_where_it_may_be() {
        let (mapping, touch) = mapping(4 * BLOCK);
        let ranges = [mapping.clone()];
        let mut touched = Touched::default();
        assert_eq!(touched.quick(&ranges, bytes(9 * BLOCK)), Found::Wrong, "there was no whole count");
        touch(BLOCK..BLOCK * 5 / 2);
        assert_eq!(touched.whole(&ranges, bytes(9 * BLOCK)), bytes(BLOCK * 3 / 2));
        touch(BLOCK * 5 / 2..3 * BLOCK);
        touch(0..1);
        touched.told([pages_of(&mapping, 0..1)].into_iter());
        let all = bytes(9 * BLOCK + BLOCK / 2 + 1);
        assert_eq!(touched.quick(&ranges, all), Found::Right(bytes(2 * BLOCK + 1)));
        let full: Vec<Range> =
            touched.parts.iter().filter(|part| part.is_full()).map(|part| part.range.clone()).collect();
        assert_eq!(full, [pages_of(&mapping, BLOCK..3 * BLOCK)], "two full blocks are one part");
        // Nobody has told of the last block, so only a wide count looks there.
        touch(4 * BLOCK - 8..4 * BLOCK);
        let all = all + bytes(8);
        assert_eq!(touched.quick(&ranges, all), Found::Elsewhere(bytes(2 * BLOCK + 1)));
        assert_eq!(touched.wide(&ranges, all), Found::Right(bytes(2 * BLOCK + 9)));
    }

    /// The program needs several counts' time to fill a block of two blocks of pages.
    #[test]
    fn a_new_block_is_lively_at_the_next_counts_too() {
        let (mapping, touch) = mapping(4 * BLOCK);
        let ranges = [mapping.clone()];
        let mut touched = Touched::default();
        assert_eq!(touched.whole(&ranges, bytes(BLOCK)), 0);
        touched.told([pages_of(&mapping, BLOCK..3 * BLOCK)].into_iter());
        for count in 0..FRESH {
            assert!(!touched.fresh.is_empty(), "{count}");
            assert_eq!(touched.quick(&ranges, bytes(BLOCK)), Found::Right(0));
        }
        assert!(touched.fresh.is_empty());
        touch(2 * BLOCK..3 * BLOCK);
        assert_eq!(touched.quick(&ranges, bytes(2 * BLOCK)), Found::Elsewhere(0));
        touched.told([pages_of(&mapping, 2 * BLOCK..3 * BLOCK)].into_iter());
        assert_eq!(touched.quick(&ranges, bytes(2 * BLOCK)), Found::Right(bytes(BLOCK)));
        assert!(touched.fresh.is_empty(), "it is full");
    }

    /// A mapping that has become two, without the first page and a page in the middle of what was full.
    #[test]
    fn pieces_of_full_parts_are_full() {
        let (mapping, touch) = mapping(4 * BLOCK);
        touch(0..3 * BLOCK);
        let mut touched = Touched::default();
        assert_eq!(touched.whole(std::slice::from_ref(&mapping), bytes(9 * BLOCK)), bytes(3 * BLOCK));
        let two = [pages_of(&mapping, 1..2 * BLOCK), pages_of(&mapping, 2 * BLOCK + 1..4 * BLOCK)];
        assert_eq!(touched.wide(&two, bytes(9 * BLOCK - 2)), Found::Right(bytes(3 * BLOCK - 2)));
        assert_eq!(touched.whole(&two, bytes(9 * BLOCK - 2)), bytes(3 * BLOCK - 2));
    }

    /// The pages go back to the kernel, so a count that leaves them out is wrong. The anonymous pages of the process say
    /// so, even when half as many were touched elsewhere.
    #[test]
    fn pages_that_were_given_back_need_a_whole_count() {
        let (mapping, touch) = mapping(2 * BLOCK);
        touch(0..2 * BLOCK);
        let ranges = [mapping.clone()];
        let (mut touched, bytes) = (Touched::default(), mapping.len() as u64);
        assert_eq!(touched.whole(&ranges, 8 * bytes), bytes);
        let start = std::ptr::with_exposed_provenance_mut(mapping.start);
        // SAFETY: the mapping is this test's own; nothing refers to what the pages hold.
        assert_eq!(unsafe { libc::madvise(start, mapping.len(), libc::MADV_DONTNEED) }, 0);
        assert_eq!(touched.quick(&ranges, 7 * bytes + bytes / 2), Found::Wrong);
        assert_eq!(touched.wide(&ranges, 7 * bytes + bytes / 2), Found::Wrong);
        assert_eq!(touched.whole(&ranges, 7 * bytes), 0);
        assert_eq!(touched.quick(&ranges, 7 * bytes), Found::Right(0));
        // 1 part in 512 of 7 x 2 x 128 pages is 3 pages and a half.
        let more = |pages: u64| 7 * bytes + pages * page_bytes() as u64;
        assert_eq!([3, 4].map(|pages| touched.quick(&ranges, more(pages))), [Found::Right(0), Found::Elsewhere(0)]);
        touched.is_right(0, more(4));
        assert_eq!(touched.quick(&ranges, more(7)), Found::Right(0));
    }
}
