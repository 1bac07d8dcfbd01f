//! The book: the resident set as a sum, from what the program asked for down to what nobody explains.
//!
//! ```text
//! RSS = RssAnon + RssFile + RssShmem                                     (/proc/self/status)
//!     = libraries and mapped files   RssFile + RssShmem + pages of files that the process has written
//!     + stacks, zero-initialised data                                    (the survey of /proc/self/smaps)
//!     + tracker                      its own mappings, tables and heap   (/proc/self/pagemap)
//!     + live bytes - their untouched pages                               (the ledger; the survey)
//!     + rest:  up to what the allocator says it holds beyond its live blocks: its own;
//!              what is above that, and all of it where the allocator says nothing: unexplained
//! ```
//!
//! A survey walks all pages and takes tens of milliseconds for a large process, so it is made seldom, by a thread of its
//! own (`recorder/aside.rs`), and its latest result stands; the other readings take some hundred microseconds and are made
//! together, near the peak. A survey that is there only after the book that asked for it corrects that book.
use std::sync::atomic::Ordering;

use alloc_timeline::{Book, BookLine};

use super::resident::Pagemap;
use super::smaps::{self, Mapping};
use super::status::{kib_field, page_bytes};
use super::{allocator, cost};
use crate::ledger::pool;
use crate::sys;
use crate::tag::shadow;

/// The line of what the allocator keeps for itself; not there when the allocator does not tell.
const ALLOCATOR: &str = "allocator: free pages and tables";

/// Untouched pages are looked for in blocks of at least this many bytes.
const LARGE_BLOCK: usize = 64 * 1024;

/// What changes slowly and is dear to find out: resident bytes by kind of mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Pages of mapped files that the process has written and thereby made its own.
    written_files: u64,
    stacks: u64,
    /// Anonymous memory directly behind a file's mapping: its zero-initialised data.
    data: u64,
    /// Bytes of large live blocks that nobody has touched.
    untouched: u64,
}

impl Survey {
    /// Walks all mappings. `None` when the kernel does not tell.
    pub fn make() -> Option<Self> {
        let mappings = smaps::read()?;
        let pagemap = Pagemap::open()?;
        let stacks: Vec<usize> = pool::live_slots().map(|slot| slot.stack_address.load(Ordering::Relaxed)).collect();
        let tracker: Vec<(usize, usize)> = sys::mappings().collect();
        Some(survey(&mappings, &stacks, &tracker, |mapping| untouched(mapping, &pagemap)))
    }

    /// By how many bytes two surveys differ.
    pub fn distance(&self, other: &Survey) -> u64 {
        let of = |survey: &Survey| [survey.written_files, survey.stacks, survey.data, survey.untouched];
        of(self).into_iter().zip(of(other)).map(|(a, b)| a.abs_diff(b)).sum()
    }
}

fn survey(
    mappings: &[Mapping],
    stacks: &[usize],
    tracker: &[(usize, usize)],
    untouched: impl Fn(&Mapping) -> u64,
) -> Survey {
    let mut survey = Survey::default();
    let mut file_end = 0;
    for mapping in mappings {
        let holds = |address: &usize| (mapping.start..mapping.end).contains(address);
        let overlaps = |&(start, end): &(usize, usize)| start < mapping.end && mapping.start < end;
        if mapping.name.starts_with('/') {
            file_end = mapping.end;
            survey.written_files += mapping.anonymous;
        } else if mapping.name.starts_with("[stack") || stacks.iter().any(holds) {
            survey.stacks += mapping.rss;
        } else if mapping.start == file_end && mapping.name.is_empty() {
            survey.data += mapping.rss;
        } else if !tracker.iter().any(overlaps) {
            survey.untouched += untouched(mapping);
        }
    }
    survey
}

/// Bytes of large live blocks in `mapping` that nobody has touched.
fn untouched(mapping: &Mapping, pagemap: &Pagemap) -> u64 {
    let entries_per_page = page_bytes() as usize / size_of::<u16>();
    let mut untouched = 0;
    for (address, entries) in shadow::entries(mapping.start, mapping.end) {
        let mut index = 0;
        while index < entries.len() {
            // Entries that nobody has written lie in pages that are not there: do not make them resident by looking.
            let piece = entries_per_page - (entries[index..].as_ptr().addr() / size_of::<u16>()) % entries_per_page;
            let piece = index..entries.len().min(index + piece);
            let range = entries[piece.clone()].as_ptr_range();
            let present = pagemap.resident(range.start.addr(), range.end.addr()) > 0;
            for offset in piece.clone().filter(|_| present) {
                if let Some(bytes) = shadow::large(&entries[offset..])
                    && bytes >= LARGE_BLOCK
                {
                    let start = address + offset * shadow::LARGE_GRANULE;
                    let end = (start + bytes).min(mapping.end);
                    untouched += ((end - start) as u64).saturating_sub(pagemap.resident(start, end));
                }
            }
            index = piece.end;
        }
    }
    untouched
}

/// What is read at one instant, all in bytes but for the time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Readings {
    /// Since the session began, in nanoseconds.
    pub time_ns: u64,
    /// The ledger's.
    pub live: u64,
    requested: u64,
    anonymous: u64,
    files: u64,
    tracker_mappings: u64,
    tracker_tables: u64,
    tracker_heap: u64,
    /// What the allocator holds beyond what it has handed out: free pages, rounding to pages, its own tables. Absent when
    /// it does not tell.
    allocator: Option<u64>,
}

impl Readings {
    /// Reads what there is at this instant; `live` and `requested` bytes are the ledger's. `None` when the kernel does not
    /// tell.
    pub fn take(time_ns: u64, live: u64, requested: u64) -> Option<Self> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let tracker_heap = cost::heap();
        let pagemap = Pagemap::open()?;
        Some(Readings {
            time_ns,
            live,
            requested,
            anonymous: kib_field(&status, "RssAnon")?,
            files: kib_field(&status, "RssFile")? + kib_field(&status, "RssShmem")?,
            tracker_mappings: sys::mappings().map(|(start, end)| pagemap.resident(start, end)).sum(),
            tracker_tables: cost::tables_resident(&pagemap),
            tracker_heap,
            allocator: allocator::beyond(live + tracker_heap),
        })
    }
}

/// The book of the instant of `readings`.
pub fn balance(survey: &Survey, readings: &Readings) -> Book {
    let &Readings { time_ns, live, requested, .. } = readings;
    let signed = |bytes: u64| bytes as i64;
    let tracker = readings.tracker_mappings + readings.tracker_tables + readings.tracker_heap;
    let data = survey.data.saturating_sub(readings.tracker_tables);
    let known = tracker + survey.written_files + survey.stacks + data + live;
    let rest = signed(readings.anonymous) - signed(known);
    let claim = readings.allocator.map_or(0, signed);
    // The survey may be some time old, and blocks that it saw untouched may be touched by now: it counts as far as the
    // allocator's claim leaves room for it. Below zero there is no doubt.
    let room = if readings.allocator.is_some() { claim - rest } else { i64::MAX };
    let untouched = signed(survey.untouched).min(room).max(-rest).max(0);
    let allocator = (rest + untouched).clamp(0, claim);
    let mut lines = vec![
        ("requested by the program", signed(requested)),
        ("rounding to size classes", signed(live) - signed(requested)),
        ("untouched pages of live blocks", -untouched),
        (ALLOCATOR, allocator),
        ("tracker", signed(tracker)),
        ("libraries and mapped files", signed(readings.files + survey.written_files)),
        ("zero-initialised data", signed(data)),
        ("stacks", signed(survey.stacks)),
        ("unexplained", rest + untouched - allocator),
    ];
    if readings.allocator.is_none() {
        lines.retain(|&(name, _)| name != ALLOCATOR);
    }
    let lines = lines.into_iter().map(|(name, bytes)| BookLine { name: name.to_owned(), bytes }).collect();
    Book { time_ns, live_bytes: live, rss_bytes: readings.anonymous + readings.files, lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mapping_has_one_kind() {
        let mapping = |start, end, name: &str, rss| Mapping { start, end, name: name.to_owned(), rss, anonymous: rss };
        let mappings = [
            mapping(0x1000, 0x2000, "/bin/a", 1),
            mapping(0x2000, 0x3000, "", 10),
            mapping(0x5000, 0x6000, "", 100),
            mapping(0x7000, 0x8000, "", 1_000),
            mapping(0x9000, 0xa000, "", 10_000),
            mapping(0xb000, 0xc000, "[stack]", 100_000),
        ];
        // 0x5000 is the tracker's, 0x7abc a thread's stack pointer; blocks of 5 untouched bytes lie in 0x9000 alone.
        let found = survey(&mappings, &[0x7abc], &[(0x5000, 0x5800)], |mapping| {
            assert_eq!(mapping.start, 0x9000);
            5
        });
        assert_eq!(found, Survey { written_files: 1, stacks: 101_000, data: 10, untouched: 5 });
    }

    fn line(book: &Book, name: &str) -> i64 {
        book.lines.iter().find(|line| line.name == name).expect("the line").bytes
    }

    #[test]
    fn what_the_allocator_does_not_claim_is_unexplained() {
        let survey = Survey { written_files: 3, stacks: 5, data: 20, untouched: 0 };
        let readings = Readings {
            live: 900,
            requested: 890,
            anonymous: 1_000,
            files: 100,
            tracker_tables: 10,
            allocator: Some(60),
            ..Default::default()
        };
        // Known: tables 10, written files 3, stacks 5, other data 10, live 900: 928 of 1,000. The rest is 72; jemalloc
        // claims 60 of it.
        let book = balance(&survey, &readings);
        assert_eq!(line(&book, "allocator: free pages and tables"), 60);
        assert_eq!(line(&book, "unexplained"), 12);
        assert_eq!(book.lines.iter().map(|line| line.bytes).sum::<i64>(), book.rss_bytes as i64);
    }

    #[test]
    fn what_an_old_survey_saw_untouched_may_be_touched_by_now() {
        let readings =
            Readings { live: 960, requested: 960, anonymous: 1_000, allocator: Some(60), ..Default::default() };
        // The rest is 40, and jemalloc claims 60: of the survey's 500 untouched bytes there is room for 20.
        let book = balance(&Survey { untouched: 500, ..Survey::default() }, &readings);
        assert_eq!(line(&book, "untouched pages of live blocks"), -20);
        assert_eq!(line(&book, "allocator: free pages and tables"), 60);
        assert_eq!(line(&book, "unexplained"), 0);
    }

    #[test]
    fn an_allocator_that_tells_nothing_has_no_line() {
        let readings = Readings { live: 960, requested: 960, anonymous: 1_000, ..Default::default() };
        // The survey saw 30 untouched of 960 live: 930 are known, and nobody knows whose the other 70 are.
        let book = balance(&Survey { untouched: 30, ..Survey::default() }, &readings);
        assert!(book.lines.iter().all(|line| line.name != ALLOCATOR));
        assert_eq!(line(&book, "untouched pages of live blocks"), -30);
        assert_eq!(line(&book, "unexplained"), 70);
        assert_eq!(book.lines.iter().map(|line| line.bytes).sum::<i64>(), 1_000);
    }

    #[test]
    fn live_bytes_beyond_the_resident_set_are_untouched() {
        let readings =
            Readings { live: 900, requested: 900, anonymous: 700, allocator: Some(50), ..Default::default() };
        let book = balance(&Survey { untouched: 100, ..Survey::default() }, &readings);
        // 900 are live and 700 resident, so 200 are untouched, whatever the survey saw; as many as 50 more could be free
        // pages of the allocator, but nothing speaks for it.
        assert_eq!(line(&book, "untouched pages of live blocks"), -200);
        assert_eq!(line(&book, "unexplained"), 0);
        assert_eq!(book.lines.iter().map(|line| line.bytes).sum::<i64>(), 700);
    }
}
