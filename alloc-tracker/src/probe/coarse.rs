//! The coarse book: the resident set in a few columns, in every sample.
//!
//! ```text
//! rss = live + rss_files + rss_tracker + rss_stacks + rss_allocator + rss_other - rss_untouched + rest
//!
//! on every tick      live; rss and the files' pages, from statm
//! some ticks later   what the allocator claims; the resident pages of its mappings; the tracker's memory
//! from the survey    stacks, data and other anonymous memory, written pages of files
//! ```
//!
//! Nobody writes the rest: it is what a reader finds. A reading that is late shows there, and nowhere else.
use super::cost;
use super::counted::Counted;
use super::reading::Readings;
use super::resident::Pagemap;
use super::status::Sizes;
use super::survey::Survey;
use super::{allocator, claims::Claims};
use crate::sys;

/// The allocator's claims are read at most so often that they take one part in this of the time.
const CLAIMS_SHARE: u64 = 800;
/// The pages of its mappings and of the tracker's are counted when the resident set has changed by more than one part in
/// this ...
const CHANGE: u64 = 400;
/// ... or after so many nanoseconds ...
const AGE_NS: u64 = 1_000_000_000;
/// ... and this takes at most one part in this of the time ...
const PAGES_SHARE: u64 = 400;
/// ... in the long run. At first, and after a rest, it may take so many nanoseconds at once.
const CREDIT_NS: u64 = 40_000_000;

/// The latest readings, in bytes, and when the next ones are due.
#[derive(Debug)]
pub struct Coarse {
    resident: Option<Sizes>,
    /// What the survey says: shared memory, pages that the process has written, stacks, and other anonymous memory with
    /// the zero-initialised data.
    surveyed: Option<[u64; 4]>,
    claimed: Option<u64>,
    next_claims_ns: u64,
    pages: Option<Pages>,
    pages_ns: u64,
    /// How many nanoseconds counting pages may take now, and when that was last added to.
    credit_ns: u64,
    credited_ns: u64,
}

/// What is counted page by page.
#[derive(Clone, Copy, Debug)]
struct Pages {
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
    pub fn new(now_ns: u64) -> Self {
        Coarse {
            resident: None,
            surveyed: None,
            claimed: None,
            next_claims_ns: 0,
            pages: None,
            pages_ns: 0,
            credit_ns: CREDIT_NS,
            credited_ns: now_ns,
        }
    }

    /// Takes over the resident set of this tick, and reads what is due.
    pub fn read(&mut self, now_ns: u64, resident: Option<Sizes>, survey: Option<&Survey>) {
        self.resident = resident;
        let Some((Sizes { rss, .. }, survey)) = resident.zip(survey) else { return };
        self.surveyed = survey.problem.is_none().then(|| {
            let other = survey.other.total() + survey.data.total();
            [survey.shared, survey.written.total(), survey.stacks.total(), other]
        });
        self.credit_ns = CREDIT_NS.min(self.credit_ns + now_ns.saturating_sub(self.credited_ns) / PAGES_SHARE);
        self.credited_ns = now_ns;
        let changed = self.pages.is_none_or(|pages| pages.rss.abs_diff(rss) > rss / CHANGE);
        let is_old = now_ns.saturating_sub(self.pages_ns) > AGE_NS;
        let pages_are_due = self.credit_ns > 0 && (changed || is_old);
        let began = sys::thread_cpu_ns();
        // The pages that the allocator has touched are compared with claims of the same moment.
        if pages_are_due || now_ns >= self.next_claims_ns {
            self.claimed = allocator::claims(&Counted::default()).ok().map(|Claims { claimed, .. }| claimed);
            self.next_claims_ns = now_ns + CLAIMS_SHARE * sys::thread_cpu_ns().saturating_sub(began);
        }
        if pages_are_due {
            self.pages = Some(Pages::count(survey, rss));
            self.pages_ns = now_ns;
            self.credit_ns = self.credit_ns.saturating_sub(sys::thread_cpu_ns().saturating_sub(began));
        }
    }

    /// The columns, when `live` bytes are live. A column whose instrument cannot be read is absent.
    pub fn columns(&self, live: u64) -> Readings {
        let mut columns: Readings = Vec::new();
        let mut column = |name: &'static str, bytes: Option<u64>| {
            columns.extend(bytes.map(|bytes| (name.into(), Some(bytes))));
        };
        let surveyed = |index: usize| self.surveyed.map(|columns| columns[index]);
        let files = self.resident.zip(self.surveyed);
        column(
            "rss_files",
            files.map(|(resident, [shared, written, ..])| resident.files.saturating_sub(shared) + written),
        );
        column("rss_tracker", self.pages.map(|pages| pages.tracker));
        column("rss_stacks", surveyed(2));
        let counted = self.claimed.zip(self.pages).and_then(|(claimed, pages)| Some((claimed, pages, pages.touched?)));
        column("rss_allocator", counted.map(|(claimed, pages, _)| claimed.saturating_sub(live + pages.tracker_heap)));
        column("rss_untouched", counted.map(|(claimed, _, touched)| claimed.saturating_sub(touched)));
        column("rss_other", surveyed(3));
        columns
    }
}

impl Pages {
    fn count(survey: &Survey, rss: u64) -> Self {
        let ranges = survey.allocator_now();
        let tracker_heap = Counted::now().tracker;
        let touched = ranges.ok().map(|ranges| survey.touched_now(&ranges));
        Pages { touched, tracker: cost::overhead(tracker_heap, &Pagemap::open()).values().sum(), tracker_heap, rss }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_sum_to_the_resident_set_when_all_is_read() {
        let mut coarse = Coarse::new(0);
        assert_eq!(coarse.columns(500), Vec::new());
        coarse.resident = Some(Sizes { mapped: 0, rss: 2_000, files: 700, data: 0 });
        coarse.surveyed = Some([60, 5, 20, 160]);
        coarse.claimed = Some(1_100);
        coarse.pages = Some(Pages { touched: Some(1_060), tracker: 130, tracker_heap: 30, rss: 2_000 });
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

    #[test]
    fn what_cannot_be_read_has_no_column() {
        let mut coarse = Coarse::new(0);
        coarse.claimed = Some(1_100);
        coarse.pages = Some(Pages { touched: None, tracker: 130, tracker_heap: 30, rss: 2_000 });
        assert_eq!(coarse.columns(500), vec![("rss_tracker".into(), Some(130))]);
    }
}
