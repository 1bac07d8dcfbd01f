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
//! The readings (`book_readings.rs`) are of one instant. The survey takes longer than they do. A thread of its own makes one now
//! and then (`recorder/background.rs`), and the latest one is used: what it counts changes slowly. Of the pages of files, statm tells the sum, so that only their names are as old as the survey. A survey that
//! ends after the book that asked for it corrects that book.
use alloc_timeline::{Book, BookLine, BookPart};

use super::book_readings::BookReadings;
use super::counted::Counted;
use super::parts::Parts;
use super::survey::Survey;

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
    let mut tracker: Parts = readings.tracker.iter().map(|(name, &bytes)| (name.clone(), bytes)).collect();
    tracker.add("free memory of its threads", readings.claims.as_ref().map_or(0, |claims| claims.of_tracker));
    let source = format!("the tracker's mappings and tables in {}; its blocks by the ledger", readings.pages_from);
    lines.push(tracker.line("tracker", &source));
    let smaps = survey.source();
    lines.push(survey.stacks.line("stacks", smaps));
    lines.push(survey.other.line("other anonymous memory", survey.source_of_other()));
    if survey.pinned.total() > 0 {
        lines.push(survey.pinned.line("pinned host memory", "/proc/self/smaps: what the GPU's driver has mapped"));
    }
    let told = "/proc/self/smaps: where somebody told what it is for";
    lines.extend(survey.told.iter().map(|(what, parts)| parts.line(what, told)));
    lines.push(survey.data.line("zero-initialised data", smaps));
    lines.push(survey.written.line("written pages of libraries", smaps));
    lines.push(files(survey, readings.files));
    let known: i64 = lines.iter().map(|line| line.bytes).sum();
    lines.push(line("unexplained", readings.rss as i64 - known, "RSS of /proc/self/statm less all lines above"));
    Book { time_ns: readings.time_ns, live_bytes: live, rss_bytes: readings.rss, lines, beyond: Vec::new() }
}

/// The line for what the allocator counts as its own and the program has never touched.
const UNTOUCHED: &str = "claimed but never touched";

/// The line for pages of files. `now` are those and the pages of shared memory, by statm.
fn files(survey: &Survey, now: u64) -> BookLine {
    let mut line = survey.files.line("pages of files", survey.source());
    let since = now as i64 - (survey.shared as i64 + line.bytes);
    if survey.problem.is_none() && since != 0 {
        line.bytes += since;
        line.source = "/proc/self/statm; by name: /proc/self/smaps".to_owned();
        line.parts.push(BookPart { name: SINCE_SURVEY.to_owned(), bytes: since });
    }
    line
}

/// The part of a line that has changed since the latest survey, which alone knows names.
const SINCE_SURVEY: &str = "more or less since the survey";

fn line(name: &str, bytes: i64, source: &str) -> BookLine {
    BookLine { name: name.to_owned(), bytes, source: source.to_owned(), parts: Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::probe::claims::{Claim, Claims, METADATA};

    fn readings() -> BookReadings {
        let claim = Claim { name: METADATA, bytes: 40, source: "a test" };
        BookReadings {
            time_ns: 7,
            counted: Counted { live: 900, requested: 890, tracker: 30, blocks: 3 },
            rss: 2_000,
            files: 700,
            claims: Ok(Claims { claimed: 1_100, source: "less what it claims", lines: vec![claim], of_tracker: 0 }),
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
        assert_eq!(book.lines.iter().find(|line| line.name == "pages of files").map(|line| line.parts.len()), Some(1));
        // 890 + 10 + 40 - 40 + 130 + 700 = 1,730 of 2,000.
        assert_eq!(bytes(&book, "claimed but never touched"), -40);
        assert_eq!((bytes(&book, "tracker"), bytes(&book, "pages of files")), (130, 700));
        assert_eq!(book.lines.last().map(|line| (line.name.as_str(), line.bytes)), Some(("unexplained", 270)));
        assert_eq!(book.lines.iter().map(|line| line.bytes).sum::<i64>(), 2_000);
    }

    /// Of 720 bytes of files and shared memory, the survey has found 600 + 100, and 20 came later.
    #[test]
    fn pages_of_files_are_as_many_as_now_and_have_the_surveys_names() {
        let files = Parts::from_iter([("libc.so".to_owned(), 600)]);
        let survey = Survey { files, shared: 100, ..Survey::default() };
        let line = super::files(&survey, 720);
        let part = |name: &str, bytes| BookPart { name: name.to_owned(), bytes };
        assert_eq!((line.bytes, line.parts), (620, vec![part("libc.so", 600), part(SINCE_SURVEY, 20)]));
        assert_eq!(super::files(&survey, 690).bytes, 590, "some were given back");
        assert_eq!(super::files(&survey, 700).parts.len(), 1);
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
        let silent = BookReadings { claims: Err("unavailable: no statistics".to_owned()), files: 0, ..readings() };
        let book = balance(&Survey::default(), &silent);
        assert_eq!(bytes(&book, "claimed but never touched"), 0);
        // 2,000 - 890 - 10 - 130.
        assert_eq!(bytes(&book, "unexplained"), 970);
    }
}
