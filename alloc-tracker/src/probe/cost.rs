//! What the tracker itself keeps resident, by name.
use std::collections::BTreeMap;

use super::counted::Counted;
use super::resident::{Pagemap, Pages, in_core};
use super::smaps::Range;
use super::spent::{Probe, Stopwatch};
use crate::ledger::{self, Slot};
use crate::sys::page_bytes;
use crate::{devices, named_memory, shared_memory, stacks, sys};

/// The tables in the executable's own data, as address ranges.
fn tables() -> Vec<(usize, usize)> {
    let mut ranges = vec![devices::range(), named_memory::range(), shared_memory::range()];
    ranges.extend(ledger::tables::ranges());
    ranges
}

/// The addresses of all that the tracker has mapped, and of its tables: whole pages, in order, without overlaps.
pub fn ranges() -> Vec<Range> {
    in_order(sys::mappings().chain(tables()))
}

/// Address ranges as whole pages, in order, without overlaps.
pub fn in_order(ranges: impl Iterator<Item = (usize, usize)>) -> Vec<Range> {
    let page = page_bytes();
    let mut ranges: Vec<Range> = ranges
        .map(|(start, end)| start / page * page..end.next_multiple_of(page))
        .filter(|range| !range.is_empty())
        .collect();
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, before| {
        let touches = next.start <= before.end;
        if touches {
            before.end = before.end.max(next.end);
        }
        touches
    });
    ranges
}

/// All that the tracker keeps resident now, in bytes by name.
pub fn overhead_now() -> BTreeMap<String, u64> {
    let mut watch = Stopwatch::start();
    let overhead = Cost::open().overhead(Counted::now().tracker, None, sys::now_ns());
    watch.lap(Probe::Closing);
    overhead
}

/// What a count used of the one before is counted anew after so many nanoseconds.
const AGE_NS: u64 = 2_000_000_000;
/// Most of the pages are more than 1 part in this.
const MOST: u64 = 2;
/// The tracker's pages are as many as before while the anonymous pages that are not the allocator's differ from what they were by at most 1
/// part in this of all anonymous pages, which is as exactly as counts of the allocator's are held against them.
const SAME: u64 = 512;

/// Counts the tracker's resident pages again and again.
///
/// Some of them are the kernel's page of zeroes, and not resident. Only /proc/self/pagemap tells them. Since Linux 6.7 the kernel
/// can scan it, which takes half as long as `mincore` because most of these pages were never touched: every count is a scan.
/// Before, pagemap takes ten times as long as `mincore`. But pages of zeroes are few and change slowly: so most counts are
/// `mincore`'s, less what was of zeroes when pagemap was last asked. And where all anonymous pages that are not the allocator's
/// are as many as at the count before, so are the tracker's, which are some of them.
#[derive(Debug)]
pub struct Cost {
    pagemap: Pagemap,
    latest: Option<Latest>,
}

/// The process's anonymous pages that are not the allocator's, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Others {
    /// They themselves.
    pub bytes: u64,
    /// All anonymous pages.
    pub of: u64,
}

/// The latest counts of [`parts`], in bytes.
#[derive(Clone, Copy, Debug)]
struct Latest {
    /// The pages of zeroes.
    zeroes: [u64; 3],
    /// When those were counted.
    zeroes_ns: u64,
    resident: [u64; 3],
    others: Option<Others>,
}

/// What the tracker has mapped, the part of it that is for stacks, and its tables. Two tables can share a page, so that the
/// sum over each table would count it twice.
fn parts() -> [Vec<Range>; 3] {
    [in_order(sys::mappings()), in_order(stacks::ranges().into_iter()), in_order(tables().into_iter())]
}

impl Cost {
    /// Opens the files.
    pub fn open() -> Self {
        Cost { pagemap: Pagemap::open(), latest: None }
    }

    /// Which instrument tells the tracker's pages from those of zeroes.
    pub fn source(&self) -> &'static str {
        self.pagemap.source()
    }

    /// The instrument that tells pages of zeroes.
    pub fn pagemap(&self) -> &Pagemap {
        &self.pagemap
    }

    /// All that the tracker keeps resident at the clock's time `now_ns`, in bytes by name. `heap` is its live bytes on the
    /// heap, `others` the anonymous pages that are not the allocator's, where they are known.
    pub fn overhead(&mut self, heap: u64, others: Option<Others>, now_ns: u64) -> BTreeMap<String, u64> {
        let [mapped, stacks, tables] = self.resident(parts, others, now_ns);
        let threads = (ledger::most_threads() * size_of::<Slot>()) as u64;
        let mut parts = BTreeMap::from([
            ("recorder_heap".to_owned(), heap),
            ("threads".to_owned(), threads.min(mapped)),
            ("shadow_map".to_owned(), mapped.saturating_sub(threads + stacks)),
            ("tables".to_owned(), tables),
        ]);
        if stacks > 0 {
            parts.insert("stacks".to_owned(), stacks);
        }
        parts
    }

    /// Resident bytes of `parts`.
    fn resident(&mut self, parts: impl Fn() -> [Vec<Range>; 3], others: Option<Others>, now_ns: u64) -> [u64; 3] {
        let is_new = |latest: &Latest| now_ns.saturating_sub(latest.zeroes_ns) <= AGE_NS;
        let is_same = |latest: &Latest| {
            let both = latest.others.zip(others);
            both.is_some_and(|(before, others)| before.bytes.abs_diff(others.bytes) <= others.of / SAME)
        };
        if let Some(latest) = self.latest.filter(|latest| is_new(latest) && is_same(latest)) {
            return latest.resident;
        }
        let parts = parts();
        let (present, zeroes, zeroes_ns) = match self.latest.filter(|latest| is_new(latest) && !self.pagemap.scans()) {
            Some(Latest { zeroes, zeroes_ns, .. }) => {
                let [mapped, stacks, tables] = &parts;
                // Tables lie beside data of the executable's file, of which mincore tells what the page cache has.
                ([in_core(mapped), in_core(stacks), self.pages(tables).present], zeroes, zeroes_ns)
            }
            None => {
                let pages = parts.each_ref().map(|ranges| self.pages(ranges));
                let before = self.latest.map(|latest| latest.zeroes);
                (pages.map(|pages| pages.present), zeroes(pages, before), now_ns)
            }
        };
        let resident = std::array::from_fn(|part| present[part].saturating_sub(zeroes[part]));
        self.latest = Some(Latest { zeroes, zeroes_ns, resident, others });
        resident
    }

    fn pages(&self, ranges: &[Range]) -> Pages {
        let pages = ranges.iter().map(|range| self.pagemap.pages(range.start, range.end));
        pages.fold(Pages::default(), |sum, pages| Pages {
            present: sum.present + pages.present,
            resident: sum.resident + pages.resident,
            unclear: sum.unclear + pages.unclear,
        })
    }
}

/// How many bytes of each part are pages of zeroes, where `before` were at an earlier count. Unclear pages are either of zeroes or shared
/// with a forked child. When most pages are unclear, a child shares them, and as many are of zeroes as before.
fn zeroes(parts: [Pages; 3], before: Option<[u64; 3]>) -> [u64; 3] {
    let sum = |bytes: fn(&Pages) -> u64| parts.iter().map(bytes).sum::<u64>();
    let most_are_unclear = sum(|pages| pages.unclear) > sum(|pages| pages.present) / MOST;
    match before {
        Some(before) if most_are_unclear => before,
        _ => parts.map(|pages| pages.present - pages.resident),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: usize = 64;

    /// A mapping of so many pages, as a part, and what reads or writes one of them.
    fn mapping() -> ([Vec<Range>; 3], impl Fn(usize), impl Fn(usize)) {
        let page = page_bytes();
        let start = sys::map_zeroed(PAGES * page);
        let range = start.addr()..start.addr() + PAGES * page;
        // SAFETY: the mapping has so many pages, and it is the test's own.
        let read = move |index| unsafe { _ = start.add(index * page).read_volatile() };
        // SAFETY: as above.
        let write = move |index| unsafe { start.add(index * page).write_volatile(1) };
        ([vec![range], Vec::new(), Vec::new()], read, write)
    }

    #[test]
    fn a_quick_count_leaves_out_the_pages_of_zeroes_that_are_known() {
        let (parts, read, write) = mapping();
        let mut cost = Cost { pagemap: Pagemap::of_words(), latest: None };
        if cost.pagemap.source() != "/proc/self/pagemap" {
            return println!("SKIPPED: no /proc/self/pagemap");
        }
        let mut pages = |now_ns| cost.resident(|| parts.clone(), None, now_ns)[0] / page_bytes() as u64;
        (0..32).for_each(&write);
        read(40);
        assert_eq!(pages(1), 32);
        (32..36).for_each(&write);
        assert_eq!(pages(2), 36);
        read(41);
        assert_eq!(pages(3), 37, "this page of zeroes is not known yet");
        assert_eq!(pages(4 + AGE_NS), 36);
        assert_eq!(pages(5 + AGE_NS), 36, "known now");
    }

    #[test]
    fn a_scan_knows_new_pages_of_zeroes() {
        let (parts, read, write) = mapping();
        let mut cost = Cost::open();
        if !cost.pagemap.scans() {
            return println!("SKIPPED: the kernel has no PAGEMAP_SCAN");
        }
        let mut pages = |now_ns| cost.resident(|| parts.clone(), None, now_ns)[0] / page_bytes() as u64;
        (0..32).for_each(&write);
        assert_eq!(pages(1), 32);
        read(40);
        write(32);
        assert_eq!(pages(2), 33);
    }

    /// Of 100 pages 3 are of zeroes. While a forked child shares all of them, the words of pagemap tell none from another.
    #[test]
    fn pages_that_a_child_shares_are_resident() {
        let part =
            |present, resident, unclear| [Pages { present, resident, unclear }, Pages::default(), Pages::default()];
        assert_eq!(zeroes(part(100, 97, 3), None), [3, 0, 0], "unclear ones are pages of zeroes");
        assert_eq!(zeroes(part(100, 50, 50), Some([3, 0, 0])), [50, 0, 0], "half of them too");
        assert_eq!(zeroes(part(100, 0, 100), Some([3, 0, 0])), [3, 0, 0], "shared");
        assert_eq!(zeroes(part(100, 0, 100), None), [100, 0, 0], "nothing is known of them");
        assert_eq!(zeroes(part(100, 40, 0), Some([3, 0, 0])), [60, 0, 0], "the kernel has told them");
    }

    #[test]
    fn nothing_is_counted_while_the_other_pages_are_as_many() {
        let (parts, _, write) = mapping();
        let mut cost = Cost::open();
        let mut pages = |bytes: u64, now_ns| {
            let others = Some(Others { bytes, of: 5_120 });
            cost.resident(|| parts.clone(), others, now_ns)[0] / page_bytes() as u64
        };
        write(0);
        assert_eq!(pages(1_280, 1), 1);
        write(1);
        assert_eq!(pages(1_290, 2), 1, "10 are at most 5,120 / 512");
        assert_eq!(pages(1_291, 3), 2);
        write(2);
        assert_eq!(pages(1_291, 4 + AGE_NS), 3);
    }
}
