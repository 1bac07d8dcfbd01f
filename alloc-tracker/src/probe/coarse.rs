//! The coarse book: the resident set in a few columns, in every sample.
//!
//! ```text
//! rss = live + rss_files + rss_tracker + rss_stacks + rss_allocator + rss_other - rss_untouched + rest
//!
//! in every sample    live; rss and the files' pages, from statm
//! some ticks later   what the allocator claims; the resident pages of its mappings; the tracker's memory
//! from the survey    stacks, data and other anonymous memory, written pages of files
//! ```
//!
//! Nobody writes the rest: it is what a reader finds. A reading that is late shows there, and nowhere else.
use alloc_replay::NewBlocks;

use super::book_readings::{BookReadings, Instruments};
use super::counted::Counted;
use super::reading::Readings;
use super::spent::{self, Probe, Stopwatch};
use super::status::Sizes;
use super::survey::Survey;

/// The pages of the allocator's mappings and of the tracker's are counted when the resident set has changed by more than
/// one part in this, and so many more counts fit into what the probe may take ...
const CHANGE: u64 = 128;
const MORE_COUNTS: u64 = 4;
/// ... or, when fewer fit, by more than one part in this: so there is something left for the changes to come.
const LARGE_CHANGE: u64 = 48;
/// Whether they fit or not, they are counted so many nanoseconds after the latest count when the resident set has changed by more than one part in
/// [`LARGE_CHANGE`] since ...
const LARGE_IS_LATE_NS: u64 = 250_000_000;
/// ... or so many after it, when by more than one part in [`CHANGE`].
const CHANGE_IS_LATE_NS: u64 = 1_000_000_000;
/// After so many nanoseconds a smaller change is enough, if [`MORE_COUNTS`] fit ...
const SMALL_CHANGE_NS: u64 = 200_000_000;
const SMALL_CHANGE: u64 = 512;
/// ... and after so many all of them are counted, whatever has changed.
const AGE_NS: u64 = 1_000_000_000;

/// The columns of a sample are at most so many.
const MOST_COLUMNS: usize = 6;

/// The latest readings, in bytes.
#[derive(Debug)]
pub struct Coarse {
    resident: Option<Sizes>,
    /// What the survey says: shared memory, pages that the process has written, stacks, and other anonymous memory with
    /// the zero-initialised data.
    surveyed: Option<[u64; 4]>,
    claimed: Option<u64>,
    counted: Option<Count>,
    /// When pages were counted.
    counted_ns: u64,
    /// When all of them were counted.
    whole_ns: u64,
    instruments: Instruments,
}

/// What is counted page by page.
#[derive(Clone, Copy, Debug)]
struct Count {
    /// Resident bytes of the allocator's mappings; `None` when they are not known.
    touched: Option<u64>,
    /// The tracker's resident bytes, and those of them that are blocks of the allocator's.
    tracker: u64,
    tracker_heap: u64,
    /// The resident set at the time.
    rss: u64,
}

impl Coarse {
    /// A coarse book without readings.
    pub fn new() -> Self {
        let instruments = Instruments::open();
        Coarse { resident: None, surveyed: None, claimed: None, counted: None, counted_ns: 0, whole_ns: 0, instruments }
    }

    /// Where the program has allocated blocks since pages were last counted.
    pub fn new_blocks(&mut self) -> &mut NewBlocks {
        self.instruments.new_blocks()
    }

    /// Takes over the resident set of this sample and the latest survey, and counts pages if that is due at the clock's time
    /// `now_ns`.
    pub fn read(&mut self, now_ns: u64, resident: Option<Sizes>, survey: Option<&Survey>) {
        self.resident = resident;
        let Some((Sizes { rss, .. }, survey)) = resident.zip(survey) else { return };
        self.surveyed = survey.problem.is_none().then(|| {
            let other = survey.other.total() + survey.pinned.total() + survey.told_bytes() + survey.data.total();
            [survey.shared, survey.written.total(), survey.stacks.total(), other]
        });
        let has_changed = |part| self.counted.is_none_or(|count| count.rss.abs_diff(rss) > rss / part);
        let is_late = |part, ns| has_changed(part) && now_ns.saturating_sub(self.counted_ns) > ns;
        let many_fit = spent::fits(Probe::Pages, MORE_COUNTS, now_ns);
        let whole = many_fit && now_ns.saturating_sub(self.whole_ns) > AGE_NS;
        let is_due = match many_fit {
            true => has_changed(CHANGE) || is_late(SMALL_CHANGE, SMALL_CHANGE_NS),
            false => {
                (has_changed(LARGE_CHANGE) && spent::fits(Probe::Pages, 1, now_ns))
                    || is_late(LARGE_CHANGE, LARGE_IS_LATE_NS)
                    || is_late(CHANGE, CHANGE_IS_LATE_NS)
            }
        };
        if whole || is_due {
            self.count(now_ns, rss, whole, survey);
        }
    }

    /// Counts pages; `whole` says whether those in full blocks as well.
    fn count(&mut self, now_ns: u64, rss: u64, whole: bool, survey: &Survey) {
        let mut watch = Stopwatch::start();
        let tracker_heap = Counted::now().tracker;
        let touched = self.instruments.touched(survey, whole);
        let others = touched.as_ref().ok().map(|count| count.others);
        let tracker = self.instruments.tracker(tracker_heap, others, now_ns).values().sum();
        self.counted = Some(Count { touched: touched.ok().map(|count| count.bytes), tracker, tracker_heap, rss });
        self.counted_ns = now_ns;
        if whole {
            self.whole_ns = now_ns;
        }
        watch.lap(Probe::Pages);
    }

    /// Takes over what the allocator claims, when only that was read.
    pub fn claims(&mut self, claimed: Option<u64>) {
        self.claimed = claimed;
    }

    /// Reads what a book needs, which the columns use as well, `session_ns` after the session began; `ledger` reads the ledger's sums. `None`
    /// when the resident set cannot be read.
    pub fn book(&mut self, session_ns: u64, survey: &Survey, ledger: impl Fn() -> Counted) -> Option<BookReadings> {
        let mut watch = Stopwatch::start();
        let readings = BookReadings::take(session_ns, survey, &mut self.instruments, ledger);
        watch.lap(Probe::Book);
        let readings = readings?;
        self.claimed = readings.claimed();
        self.counted = Some(Count {
            touched: readings.touched(),
            tracker: readings.tracker(),
            tracker_heap: readings.counted.tracker,
            rss: readings.rss,
        });
        Some(readings)
    }

    /// The columns, when `live` bytes are live. A column whose instrument cannot be read is absent.
    pub fn columns(&self, live: u64) -> Readings {
        let mut columns = Readings::with_capacity(MOST_COLUMNS);
        let mut column = |name: &'static str, bytes: Option<u64>| {
            columns.extend(bytes.map(|bytes| (name.into(), Some(bytes))));
        };
        let surveyed = |index: usize| self.surveyed.map(|columns| columns[index]);
        let files = self.resident.zip(self.surveyed);
        column(
            "rss_files",
            files.map(|(resident, [shared, written, ..])| resident.files.saturating_sub(shared) + written),
        );
        column("rss_tracker", self.counted.map(|count| count.tracker));
        column("rss_stacks", surveyed(2));
        let counted =
            self.claimed.zip(self.counted).and_then(|(claimed, count)| Some((claimed, count, count.touched?)));
        // The claims may be older than `live`. An allocator claims at least what is live, and what it has touched.
        let counted = counted.map(|(claimed, count, touched)| {
            let held = live + count.tracker_heap;
            (claimed.max(held).max(touched), held, touched)
        });
        column("rss_allocator", counted.map(|(claimed, held, _)| claimed - held));
        column("rss_untouched", counted.map(|(claimed, _, touched)| claimed - touched));
        column("rss_other", surveyed(3));
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_sum_to_the_resident_set_when_all_is_read() {
        let mut coarse = Coarse::new();
        assert_eq!(coarse.columns(500), Vec::new());
        coarse.resident = Some(Sizes { mapped: 0, rss: 2_000, files: 700, data: 0 });
        coarse.surveyed = Some([60, 5, 20, 160]);
        coarse.claimed = Some(1_100);
        coarse.counted = Some(Count { touched: Some(1_060), tracker: 130, tracker_heap: 30, rss: 2_000 });
        let columns = coarse.columns(500);
        let of = |name: &str| columns.iter().find(|column| column.0 == name).and_then(|column| column.1);
        // Of the files' 700, 60 are shared memory, which is among the other 160; 5 are written pages.
        assert_eq!(of("rss_files"), Some(645));
        // Claimed are 1,100: 500 live, the tracker's 30, and 570 beyond. Of all that, 40 are untouched.
        assert_eq!((of("rss_allocator"), of("rss_untouched")), (Some(570), Some(40)));
        assert_eq!((of("rss_tracker"), of("rss_stacks"), of("rss_other")), (Some(130), Some(20), Some(160)));
        // 500 + 645 + 130 + 20 + 570 + 160 - 40 = 1,985 of 2,000: the rest is 15.
        let sum: u64 = columns.iter().filter(|column| column.0 != "rss_untouched").filter_map(|column| column.1).sum();
        assert_eq!(500 + sum - 40, 1_985);
    }

    /// Claims of 1,100 are of a moment before: 1,300 are live now. The sum stays that of the touched pages.
    #[test]
    fn late_claims_do_not_change_the_sum() {
        let mut coarse = Coarse::new();
        coarse.claimed = Some(1_100);
        coarse.counted = Some(Count { touched: Some(1_060), tracker: 130, tracker_heap: 30, rss: 2_000 });
        let columns = coarse.columns(1_300);
        let of = |name: &str| columns.iter().find(|column| column.0 == name).and_then(|column| column.1);
        // 1,300 + 0 - 270 = 1,060 - 30.
        assert_eq!((of("rss_allocator"), of("rss_untouched")), (Some(0), Some(270)));
    }

    #[test]
    fn what_cannot_be_read_has_no_column() {
        let mut coarse = Coarse::new();
        coarse.claimed = Some(1_100);
        coarse.counted = Some(Count { touched: None, tracker: 130, tracker_heap: 30, rss: 2_000 });
        assert_eq!(coarse.columns(500), vec![("rss_tracker".into(), Some(130))]);
    }
}
