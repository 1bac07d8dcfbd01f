//! The book: the resident set as a sum of named lines, each from an instrument of its own. The last one is what they
//! leave over; no other is computed from it.
//!
//! ```text
//! requested + rounding                    the ledger
//! cached blocks, slack, free pages,       the allocator's statistics
//!   allocator's metadata
//! claimed but never touched  (negative)   what the allocator claims, against the resident pages of its own mappings
//! tracker                                 its mappings and tables, page by page; its blocks by the ledger
//! stacks, other anonymous memory, data,   the survey of /proc/self/smaps
//!   written pages, pages of files
//! unexplained                             statm's resident set less all of these
//! ```
//!
//! The readings are of one instant: they take about a millisecond for a gigabyte. The survey takes longer. A thread of
//! its own makes one now and then (`recorder/background.rs`), and the latest one is used: what it counts changes
//! slowly. A survey that ends after the book that asked for it corrects that book.
use std::collections::BTreeMap;

use alloc_timeline::{Book, BookLine};

use super::claims::Claims;
use super::counted::Counted;
use super::parts::Parts;
use super::resident::Pagemap;
use super::status::Statm;
use super::survey::Survey;
use super::{allocator, cost};

/// What a book reads at one instant.
#[derive(Clone, Debug)]
pub struct BookReadings {
    /// Nanoseconds since the session began.
    pub time_ns: u64,
    /// The ledger's sums.
    pub counted: Counted,
    /// The resident set, in bytes.
    rss: u64,
    /// The allocator's claims, or why there are none.
    claims: Result<Claims, String>,
    /// Resident bytes of the allocator's mappings, or why they are not known.
    touched: Result<u64, String>,
    /// The tracker's resident bytes by name.
    tracker: BTreeMap<String, u64>,
    /// Which instrument counted its pages.
    pages_from: &'static str,
}

impl BookReadings {
    /// Reads everything now; `survey` knows the allocator's mappings. `None` when the resident set cannot be read.
    pub fn take(time_ns: u64, survey: &Survey) -> Option<Self> {
        let statm = Statm::open();
        // What comes first may take long. The rest are the readings that change fast.
        let ranges = survey.allocator_now();
        let counted = Counted::now();
        let claims = allocator::claims(&counted);
        let touched = ranges.map(|ranges| survey.touched_now(&ranges));
        let rss = statm.read()?.rss;
        let pagemap = Pagemap::open();
        let tracker = cost::overhead(counted.tracker, &pagemap);
        Some(BookReadings { time_ns, counted, rss, claims, touched, tracker, pages_from: pagemap.source() })
    }
}

/// The book for the instant of `readings`.
pub fn balance(survey: &Survey, readings: &BookReadings) -> Book {
    let Counted { live, requested, .. } = readings.counted;
    let ledger = "the ledger";
    let mut lines = vec![
        line("requested by the program", requested as i64, ledger),
        line("rounding to size classes", live as i64 - requested as i64, ledger),
    ];
    match &readings.claims {
        Ok(claims) => lines.extend(claims.lines.iter().map(|one| line(one.name, one.bytes as i64, one.source))),
        Err(reason) => lines.push(line(super::claims::METADATA, 0, reason)),
    }
    lines.push(match (&readings.claims, &readings.touched) {
        (Ok(claims), Ok(touched)) => {
            let source = format!("resident pages of the allocator's mappings (mincore), {}", claims.source);
            line(UNTOUCHED, *touched as i64 - claims.claimed as i64, &source)
        }
        (Err(reason), _) | (_, Err(reason)) => line(UNTOUCHED, 0, reason),
    });
    let tracker: Parts = readings.tracker.iter().map(|(name, &bytes)| (name.clone(), bytes)).collect();
    let source = format!("the tracker's mappings and tables in {}; its blocks by the ledger", readings.pages_from);
    lines.push(tracker.line("tracker", &source));
    let smaps = survey.source();
    lines.push(survey.stacks.line("stacks", smaps));
    lines.push(survey.other.line("other anonymous memory", survey.source_of_other()));
    lines.push(survey.data.line("zero-initialised data", smaps));
    lines.push(survey.written.line("written pages of libraries", smaps));
    lines.push(survey.files.line("pages of files", smaps));
    let known: i64 = lines.iter().map(|line| line.bytes).sum();
    lines.push(line("unexplained", readings.rss as i64 - known, "RSS of /proc/self/statm less all lines above"));
    Book { time_ns: readings.time_ns, live_bytes: live, rss_bytes: readings.rss, lines, beyond: Vec::new() }
}

/// The line for what the allocator counts as its own and the program has never touched.
const UNTOUCHED: &str = "claimed but never touched";

fn line(name: &str, bytes: i64, source: &str) -> BookLine {
    BookLine { name: name.to_owned(), bytes, source: source.to_owned(), parts: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::claims::{Claim, METADATA};

    fn readings() -> BookReadings {
        let claim = Claim { name: METADATA, bytes: 40, source: "a test" };
        BookReadings {
            time_ns: 7,
            counted: Counted { live: 900, requested: 890, tracker: 30, blocks: 3 },
            rss: 2_000,
            claims: Ok(Claims { claimed: 1_100, source: "less what it claims", lines: vec![claim] }),
            touched: Ok(1_060),
            tracker: BTreeMap::from([("heap".to_owned(), 30), ("tables".to_owned(), 100)]),
            pages_from: "a test",
        }
    }

    fn bytes(book: &Book, name: &str) -> i64 {
        book.lines.iter().find(|line| line.name == name).expect("the line").bytes
    }

    #[test]
    fn what_no_line_has_is_unexplained() {
        let survey = Survey { files: Parts::from_iter([("libc.so".to_owned(), 700)]), ..Survey::default() };
        let book = balance(&survey, &readings());
        // 890 + 10 + 40 - 40 + 130 + 700 = 1,730 of 2,000.
        assert_eq!(bytes(&book, "claimed but never touched"), -40);
        assert_eq!((bytes(&book, "tracker"), bytes(&book, "pages of files")), (130, 700));
        assert_eq!(book.lines.last().map(|line| (line.name.as_str(), line.bytes)), Some(("unexplained", 270)));
        assert_eq!(book.lines.iter().map(|line| line.bytes).sum::<i64>(), 2_000);
    }

    /// Lines that cannot be read say so, and the others stand.
    #[test]
    fn a_line_that_cannot_be_read_says_so() {
        let survey = Survey { problem: Some("unavailable: no smaps".to_owned()), ..Survey::default() };
        let touched = survey.allocator_now().map(|_| 0);
        let book = balance(&survey, &BookReadings { touched, ..readings() });
        let source = |name: &str| book.lines.iter().find(|line| line.name == name).expect("the line").source.as_str();
        for name in ["claimed but never touched", "stacks", "other anonymous memory", "pages of files"] {
            assert_eq!((source(name), bytes(&book, name)), ("unavailable: no smaps", 0), "{name}");
        }
        assert_eq!((bytes(&book, "requested by the program"), bytes(&book, METADATA)), (890, 40));
        let silent = BookReadings { claims: Err("unavailable: no statistics".to_owned()), ..readings() };
        let book = balance(&Survey::default(), &silent);
        assert_eq!(bytes(&book, "claimed but never touched"), 0);
        // 2,000 - 890 - 10 - 130.
        assert_eq!(bytes(&book, "unexplained"), 970);
    }
}
