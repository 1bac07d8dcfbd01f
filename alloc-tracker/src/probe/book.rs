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
//! The readings are of one instant: they take some tenths of a millisecond. The survey takes longer. A thread of
//! its own makes one now and then (`recorder/background.rs`), and the latest one is used: what it counts changes
//! slowly. Of the pages of files, statm tells the sum, so that only their names are as old as the survey. A survey that
//! ends after the book that asked for it corrects that book.
use std::collections::BTreeMap;

use alloc_replay::NewBlocks;
use alloc_timeline::{Book, BookLine, BookPart};

use super::allocator;
use super::claims::Claims;
use super::cost::{Cost, Others};
use super::counted::Counted;
use super::listed::Listed;
use super::parts::Parts;
use super::smaps::Range;
use super::status::{Sizes, Statm};
use super::survey::Survey;
use super::touched::{Found, Touched};
use crate::sys;

/// The readings for a book are taken at most so often.
const MOST_READINGS: u32 = 8;
/// Readings are of one instant when the process's anonymous pages change by at most 1 part in this from the first to the last.
const SAME_INSTANT: u64 = 512;

/// What a book reads at one instant.
#[derive(Clone, Debug)]
pub struct BookReadings {
    /// Nanoseconds since the session began.
    pub time_ns: u64,
    /// The ledger's sums.
    pub counted: Counted,
    /// The resident set, in bytes.
    pub rss: u64,
    /// The part of it that is pages of files and shared memory.
    files: u64,
    /// The allocator's claims, or why there are none.
    claims: Result<Claims, String>,
    /// Resident bytes of the allocator's mappings, or why they are not known.
    touched: Result<u64, String>,
    /// The tracker's resident bytes by name.
    tracker: BTreeMap<String, u64>,
    /// Which instrument counted its pages.
    pages_from: &'static str,
}

/// What the readings are taken with, opened once.
#[derive(Debug)]
pub struct Instruments {
    statm: Statm,
    cost: Cost,
    listed: Option<Listed>,
    /// Where the program has allocated blocks since the count before.
    new: NewBlocks,
    touched: Touched,
    /// Pages of zeroes among the allocator's at the last whole count, in bytes, where the kernel tells them; else the survey does.
    zeroes: Option<u64>,
}

/// The resident bytes of the allocator's mappings.
#[derive(Clone, Copy, Debug)]
pub struct AllocatorPages {
    /// How many they are.
    pub bytes: u64,
    /// The other anonymous pages of the process.
    pub others: Others,
    /// Whether all pages were looked at.
    took_long: bool,
}

impl AllocatorPages {
    /// Whether the process's anonymous pages are about as many as they were when these were counted. An allocator that gives back a large
    /// block is at it for a millisecond.
    fn is_of_the_instant_of(&self, sizes: Sizes) -> bool {
        !self.took_long && sizes.anonymous().abs_diff(self.others.of) <= sizes.anonymous() / SAME_INSTANT
    }
}

impl Instruments {
    /// Opens the files.
    pub fn open() -> Self {
        let (statm, cost, touched) = (Statm::open(), Cost::open(), Touched::default());
        Instruments { statm, cost, listed: None, new: NewBlocks::default(), touched, zeroes: None }
    }

    /// Where the program has allocated blocks since the call before: the next count looks there first.
    pub fn told(&mut self, new: NewBlocks) {
        self.new.append(new);
    }

    /// Counts the resident bytes of the allocator's mappings now; `whole` says whether all pages are looked at in any case.
    ///
    /// # Errors
    /// A sentence, when the mappings are not known.
    pub fn touched(&mut self, survey: &Survey, whole: bool) -> Result<AllocatorPages, String> {
        let sizes = self.statm.read().ok_or("unavailable: /proc/self/statm cannot be read")?;
        let anonymous = sizes.anonymous();
        let Instruments { cost, listed, new, touched, zeroes, .. } = self;
        let listed = match listed {
            Some(listed) if listed.is_of(survey) && (!whole || listed.mapped == sizes.mapped) => listed,
            _ => listed.insert(Listed::now(survey, sizes.mapped)?),
        };
        let new: Vec<Range> =
            std::mem::take(new).places().map(|place| place.start as usize..place.end as usize).collect();
        if allocator::keeps_mappings() {
            listed.add(&new);
        }
        touched.told(new.into_iter());
        let mut found = if whole { Found::Wrong } else { touched.quick(&listed.ranges, anonymous) };
        if matches!(found, Found::Elsewhere(_)) && listed.mapped != sizes.mapped {
            *listed = Listed::now(survey, sizes.mapped)?;
            found = touched.quick(&listed.ranges, anonymous);
        }
        if !whole && !matches!(found, Found::Right(_)) {
            found = touched.wide(&listed.ranges, anonymous);
        }
        let (bytes, took_long) = match found {
            Found::Right(bytes) => (bytes, false),
            Found::Elsewhere(bytes) => {
                touched.is_right(bytes, anonymous);
                (bytes, false)
            }
            Found::Wrong => {
                *zeroes = cost.pagemap().zeroes(&listed.ranges);
                (touched.whole(&listed.ranges, anonymous), true)
            }
        };
        let bytes = bytes.saturating_sub(zeroes.unwrap_or(survey.zeroes));
        let others = Others { bytes: anonymous.saturating_sub(bytes), of: anonymous };
        Ok(AllocatorPages { bytes, others, took_long })
    }

    /// The tracker's resident bytes by name at the clock's time `now_ns`; `heap` are its live bytes on the heap, and
    /// `others` the anonymous pages that are not the allocator's, where they are known.
    pub fn tracker(&mut self, heap: u64, others: Option<Others>, now_ns: u64) -> BTreeMap<String, u64> {
        self.cost.overhead(heap, others, now_ns)
    }

    /// What tells whether the process has changed: when it is the same before readings and after them, they are of one instant.
    pub fn state(&self) -> Option<(Counted, Sizes)> {
        Some((Counted { tracker: 0, blocks: 0, ..Counted::now() }, self.statm.read()?))
    }
}

impl BookReadings {
    /// Reads everything now, and again while that takes long or the process changes much meanwhile, because all readings should be of
    /// one instant; `survey` knows the allocator's mappings. `None` when the resident set cannot be read.
    pub fn take(time_ns: u64, survey: &Survey, instruments: &mut Instruments) -> Option<Self> {
        let mut readings_left = MOST_READINGS;
        let (counted, claims, touched, sizes) = loop {
            let counted = Counted::now();
            let claims = allocator::claims(&counted);
            let touched = instruments.touched(survey, false);
            let sizes = instruments.statm.read()?;
            readings_left -= 1;
            if readings_left == 0 || touched.as_ref().map_or(true, |count| count.is_of_the_instant_of(sizes)) {
                break (counted, claims, touched, sizes);
            }
        };
        let Sizes { rss, files, .. } = sizes;
        let others = touched.as_ref().ok().map(|count| count.others);
        let tracker = instruments.tracker(counted.tracker, others, sys::now_ns());
        let touched = touched.map(|count| count.bytes);
        let pages_from = instruments.cost.source();
        Some(BookReadings { time_ns, counted, rss, files, claims, touched, tracker, pages_from })
    }

    /// Readings when so many bytes were live, for tests.
    #[cfg(test)]
    pub fn with_live(live: u64) -> Self {
        let (counted, tracker) = (Counted { live, ..Counted::default() }, BTreeMap::new());
        let (claims, touched) = (Err(String::new()), Err(String::new()));
        BookReadings { time_ns: 0, counted, rss: live, files: 0, claims, touched, tracker, pages_from: "a test" }
    }

    /// The sum of what the allocator claims; `None` where it has no statistics.
    pub fn claimed(&self) -> Option<u64> {
        self.claims.as_ref().ok().map(|claims| claims.claimed)
    }

    /// Resident bytes of the allocator's mappings; `None` when they are not known.
    pub fn touched(&self) -> Option<u64> {
        self.touched.as_ref().ok().copied()
    }

    /// The tracker's resident bytes.
    pub fn tracker(&self) -> u64 {
        self.tracker.values().sum()
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
    use super::*;
    use crate::probe::claims::{Claim, METADATA};

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
