//! The book: the resident set as a sum of named lines, the last of which is the part that nothing explains.
//!
//! ```text
//! RSS = RssAnon + RssFile + RssShmem                                     (/proc/self/status)
//!     = libraries and mapped files   RssFile + RssShmem + pages of files that the process has written
//!     + stacks + zero-initialised data                                   (the survey of /proc/self/smaps)
//!     + tracker                      its own mappings, tables and heap   (/proc/self/pagemap)
//!     + live bytes - their untouched pages                               (the ledger; the survey)
//!     + rest:  the allocator's, up to what its statistics say it holds beyond its live blocks;
//!              above that, or where the allocator has no statistics: unexplained
//! ```
//!
//! A survey walks all pages and takes tens of milliseconds for a large process. So a thread of its own makes surveys
//! now and then (`recorder/background.rs`), and the latest one is used. The other readings take some hundred
//! microseconds; they are made together, near the peak. A survey that ends after the book that asked for it corrects
//! that book.
use std::sync::atomic::Ordering;

use alloc_timeline::{Book, BookLine};

use super::resident::Pagemap;
use super::smaps::{self, Kind, Mapping};
use super::status::Resident;
use super::{allocator, cost};
use crate::ledger;
use crate::sys::{self, page_bytes};
use crate::tag::shadow;

/// The name of the line for what the allocator keeps for itself. A book has no such line when the allocator has no
/// statistics.
const ALLOCATOR: &str = "allocator: free pages and tables";

/// The survey looks for untouched pages in blocks of at least this many bytes.
const LARGE_BLOCK: usize = 64 * 1024;

/// The part of a book that changes slowly and takes long to read: resident bytes by kind of mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Pages of mapped files that the process has written and thereby made its own.
    written_files: u64,
    stacks: u64,
    /// Anonymous memory directly behind a file's mapping: its zero-initialised data.
    data: u64,
    /// Bytes of large live blocks in pages that the program has never touched.
    untouched: u64,
}

impl Survey {
    /// Walks all mappings. `None` when /proc/self/smaps or /proc/self/pagemap cannot be read.
    pub fn take() -> Option<Self> {
        let mappings = smaps::read()?;
        let pagemap = Pagemap::open()?;
        let stacks: Vec<usize> = ledger::live_slots().map(|slot| slot.stack_address.load(Ordering::Relaxed)).collect();
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
        if mapping.kind == Kind::File {
            file_end = mapping.end;
            survey.written_files += mapping.anonymous;
        } else if mapping.kind == Kind::Stack || stacks.iter().any(holds) {
            survey.stacks += mapping.rss;
        } else if mapping.start == file_end && mapping.kind == Kind::Anonymous {
            survey.data += mapping.rss;
        } else if !tracker.iter().any(overlaps) {
            survey.untouched += untouched(mapping);
        }
    }
    survey
}

/// Bytes of large live blocks in `mapping` in pages that the program has never touched.
fn untouched(mapping: &Mapping, pagemap: &Pagemap) -> u64 {
    let entries_per_page = page_bytes() / size_of::<u16>();
    let mut untouched = 0;
    for (address, entries) in shadow::entries(mapping.start, mapping.end) {
        let mut index = 0;
        while index < entries.len() {
            // Pages of the shadow map without entries are not resident. Reading them would make them so: they are
            // skipped.
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

/// What a book reads at one instant. All fields but the time are in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct BookReadings {
    /// Nanoseconds since the session began.
    pub time_ns: u64,
    /// The ledger's live bytes (usable bytes).
    pub live: u64,
    requested: u64,
    anonymous: u64,
    files: u64,
    tracker_mappings: u64,
    tracker_tables: u64,
    tracker_heap: u64,
    /// What the allocator holds beyond the blocks that it has handed out: free pages, rounding to pages, its own
    /// tables. `None` when it has no statistics.
    allocator: Option<u64>,
}

impl BookReadings {
    /// Reads everything now; `live` and `requested` are the ledger's bytes. `None` when files of /proc/self cannot be
    /// read.
    pub fn take(time_ns: u64, live: u64, requested: u64) -> Option<Self> {
        let resident = Resident::read()?;
        let tracker_heap = cost::heap();
        let pagemap = Pagemap::open()?;
        Some(BookReadings {
            time_ns,
            live,
            requested,
            anonymous: resident.anonymous,
            files: resident.files,
            tracker_mappings: sys::mappings().map(|(start, end)| pagemap.resident(start, end)).sum(),
            tracker_tables: cost::tables_resident(&pagemap),
            tracker_heap,
            allocator: allocator::beyond(live + tracker_heap),
        })
    }
}

/// The book for the instant of `readings`.
pub fn balance(survey: &Survey, readings: &BookReadings) -> Book {
    let &BookReadings { time_ns, live, requested, .. } = readings;
    let signed = |bytes: u64| bytes as i64;
    let tracker = readings.tracker_mappings + readings.tracker_tables + readings.tracker_heap;
    let data = survey.data.saturating_sub(readings.tracker_tables);
    let known = tracker + survey.written_files + survey.stacks + data + live;
    let rest = signed(readings.anonymous) - signed(known);
    let claim = readings.allocator.map_or(0, signed);
    // The survey may be old, and the program may have touched pages since that the survey found untouched. So its
    // figure counts only as far as the allocator's claim leaves room for it. Where the rest is below zero, at least
    // that many bytes are untouched for certain.
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
        let mapping = |start, end, kind, rss| Mapping { start, end, kind, rss, anonymous: rss };
        let mappings = [
            mapping(0x1000, 0x2000, Kind::File, 1),
            mapping(0x2000, 0x3000, Kind::Anonymous, 10),
            mapping(0x5000, 0x6000, Kind::Anonymous, 100),
            mapping(0x7000, 0x8000, Kind::Anonymous, 1_000),
            mapping(0x9000, 0xa000, Kind::Anonymous, 10_000),
            mapping(0xb000, 0xc000, Kind::Stack, 100_000),
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
        let readings = BookReadings {
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
            BookReadings { live: 960, requested: 960, anonymous: 1_000, allocator: Some(60), ..Default::default() };
        // The rest is 40, and jemalloc claims 60: of the survey's 500 untouched bytes there is room for 20.
        let book = balance(&Survey { untouched: 500, ..Survey::default() }, &readings);
        assert_eq!(line(&book, "untouched pages of live blocks"), -20);
        assert_eq!(line(&book, "allocator: free pages and tables"), 60);
        assert_eq!(line(&book, "unexplained"), 0);
    }

    #[test]
    fn an_allocator_that_tells_nothing_has_no_line() {
        let readings = BookReadings { live: 960, requested: 960, anonymous: 1_000, ..Default::default() };
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
            BookReadings { live: 900, requested: 900, anonymous: 700, allocator: Some(50), ..Default::default() };
        let book = balance(&Survey { untouched: 100, ..Survey::default() }, &readings);
        // 900 are live and 700 resident, so 200 are untouched, whatever the survey saw; as many as 50 more could be
        // free pages of the allocator, but nothing speaks for it.
        assert_eq!(line(&book, "untouched pages of live blocks"), -200);
        assert_eq!(line(&book, "unexplained"), 0);
        assert_eq!(book.lines.iter().map(|line| line.bytes).sum::<i64>(), 700);
    }
}
