//! Decides when the recorder takes a book, which is the account of the resident set: near the peak of the live bytes,
//! with the latest survey of the mappings.
use alloc_timeline::Book;

use super::background::{Background, Job};
use super::clock::SessionClock;
use super::state::with_replay;
use super::unexplained::{leaves_much, unexplained};
use crate::probe::Probes;
use crate::probe::book;
use crate::probe::book_readings::{BookReadings, Instruments};
use crate::probe::counted::Counted;
use crate::probe::spent::{self, Probe, Stopwatch};
use crate::probe::survey::Survey;

/// Live bytes are about the same when they differ by at most 1 part in this. A book of more follows the one before ...
const SAME_STEP: u64 = 256;
/// ... when so many more books fit into what they may take. When fewer fit, it waits until the peak is higher than the one
/// before by 1 part in this: so there is always something left for the next peak.
const MORE_BOOKS: u64 = 20;
const HIGHER_STEP: u64 = 32;
/// A book is taken in any case when the live bytes are more than those of the one before by 1 part in this: a process can raise its live
/// bytes so far only a few dozen times, and a book of two thirds of the peak explains little of it ...
const MUCH_HIGHER_STEP: u64 = 4;
/// ... but not before so many times the processor time is over that the one before took. In a program that loads libraries a book takes one or
/// two milliseconds, and the live bytes grow by a quarter every ten.
const MUCH_HIGHER_PAUSE: u64 = 20;
/// So is one of a peak that is higher by 1 part in [`HIGHER_STEP`], when the one before is older than so many nanoseconds ...
const LATE_BOOK_NS: u64 = 250_000_000;
/// ... and a survey that a book wants, when the one before is older than this. A program that loads libraries for seconds has spent what
/// there is for both long before its peak.
const LATE_SURVEY_NS: u64 = 2_000_000_000;
/// A book counts as the peak's when it is not below the peak by more than 1 part in this ...
const MISSED_STEP: u64 = 64;
/// ... and otherwise the recorder waits for a higher one, for so many nanoseconds since the peak was first so high.
const MISSED_NS: u64 = 5_000_000_000;
/// A book of about the same live bytes replaces one that is older than so many nanoseconds.
const BOOK_AGE_NS: u64 = 100_000_000;
/// The pause after a survey, as a multiple of the processor time that the survey took: at first ...
const FIRST_SURVEY_PAUSE: u64 = 400;
/// ... and at most. As long as surveys find the same, each pause is twice the one before.
const MOST_SURVEY_PAUSE: u64 = 800;

/// A book that leaves much unexplained has the next survey made soon, when so many times the processor time is over that the last one took ...
const SOON_SURVEY_PAUSE: u64 = 20;
/// ... but only so many in a row, because some programs have memory that no survey explains.
const MOST_SOON_SURVEYS: u32 = 4;

/// The readings for a book that somebody asked for are taken at most so often.
const MOST_READINGS: usize = 8;

/// The ledger's sums. They are whole only when the events in the ring have been read.
fn ledger() -> Counted {
    with_replay(|_| ());
    Counted::now()
}

/// The book of this instant, with a survey that was made just before. While the process changes as it is read, it is read again.
/// `None` when the resident set cannot be read.
pub fn book_now(survey: &Survey, clock: &mut SessionClock) -> Option<Book> {
    let mut watch = Stopwatch::start();
    let mut readings = None;
    for _ in 0..MOST_READINGS {
        let mut instruments = Instruments::open();
        let before = instruments.state(ledger);
        let now = clock.now_ns();
        readings = BookReadings::take(clock.since_start(now), survey, &mut instruments, ledger);
        if instruments.state(ledger) == before {
            break;
        }
    }
    watch.lap(Probe::Asked);
    Some(book::balance(survey, &readings?))
}

/// The latest book, and what decides when the next one is due.
#[derive(Debug)]
pub struct BookKeeper {
    /// The readings of the latest book.
    readings: Option<BookReadings>,
    survey: Option<Survey>,
    /// Whether a survey was asked for and has not ended.
    surveying: bool,
    next_survey_ns: u64,
    survey_pause: u64,
    /// When the latest survey ended, by the clock, and how many nanoseconds of processor time it took.
    surveyed_ns: u64,
    spent_ns: u64,
    /// How many surveys were made sooner than the pause, since a book was last explained.
    soon_surveys: u32,
    /// The most live bytes, and the clock's time when they were first seen.
    peak: (u64, u64),
    /// Whether the latest book leaves so much unexplained that the next survey should come soon.
    wants_survey: bool,
    /// Whether the live bytes are higher than ever before.
    is_rising: bool,
}

impl BookKeeper {
    /// A book keeper that has taken no book yet.
    pub fn new(now_ns: u64) -> Self {
        BookKeeper {
            readings: None,
            survey: None,
            surveying: false,
            next_survey_ns: 0,
            survey_pause: 0,
            surveyed_ns: now_ns,
            spent_ns: 0,
            soon_surveys: 0,
            peak: (0, now_ns),
            wants_survey: false,
            is_rising: true,
        }
    }

    /// Tells the book keeper that the peak is now `live_bytes`.
    pub fn peak_is(&mut self, live_bytes: u64, now_ns: u64) {
        if live_bytes > self.peak.0 {
            self.peak = (live_bytes, now_ns);
        }
    }

    /// Takes a book if `live` bytes are near the most so far and the latest book is of fewer, or of as many some time ago:
    /// of equal peaks the latest counts.
    pub fn look(
        &mut self,
        live: u64,
        clock: &mut SessionClock,
        background: &Background,
        probes: &mut Probes,
    ) -> Option<Book> {
        let now = clock.now_ns();
        self.peak_is(live, now);
        self.is_rising = self.readings.as_ref().is_none_or(|readings| is_more(live, readings.counted.live, SAME_STEP));
        let took_ns = spent::latest_ns(Probe::Book);
        if !self.is_due(live, clock.since_start(now), took_ns, |books| spent::fits(Probe::Book, books, now)) {
            return None;
        }
        self.keep_surveyed(now, background);
        self.take_book(clock, probes)
    }

    /// Whether a book is due when `live` bytes are live, `session_ns` after the session began. The latest one took `took_ns`; `fits` says
    /// whether so many books may be taken.
    fn is_due(&self, live: u64, session_ns: u64, took_ns: u64, fits: impl Fn(u64) -> bool) -> bool {
        let Some(readings) = &self.readings else { return true };
        let (booked, age_ns) = (readings.counted.live, session_ns.saturating_sub(readings.time_ns));
        let is_at_peak = !is_more(self.peak.0, live, MISSED_STEP);
        if is_at_peak && is_more(self.peak.0, booked, HIGHER_STEP) {
            let has_rested = age_ns >= took_ns.saturating_mul(MUCH_HIGHER_PAUSE);
            return (is_more(live, booked, MUCH_HIGHER_STEP) && has_rested) || age_ns > LATE_BOOK_NS || fits(1);
        }
        let is_old = age_ns > BOOK_AGE_NS;
        let is_worth_it = if is_old { !is_more(booked, live, SAME_STEP) } else { is_more(live, booked, SAME_STEP) };
        is_worth_it && fits(MORE_BOOKS)
    }

    /// The latest survey.
    pub fn survey(&self) -> Option<&Survey> {
        self.survey.as_ref()
    }

    /// Asks for a survey of the mappings, which every sample uses, unless one is under way or the pause after the last one is
    /// not over. One that the book wants may take what other probes have left, and comes in any case when it is late.
    pub fn keep_surveyed(&mut self, now_ns: u64, background: &Background) {
        let is_late = now_ns.saturating_sub(self.surveyed_ns) > LATE_SURVEY_NS;
        let fits = || {
            let wanted = self.wants_survey && (is_late || spent::fits_into_all(Probe::Survey, now_ns));
            wanted || spent::fits(Probe::Survey, 1, now_ns)
        };
        if !self.surveying && now_ns >= self.next_survey_ns && fits() {
            self.surveying = true;
            background.ask(Job::Survey(self.survey.as_ref().and_then(Survey::known)));
        }
    }

    /// Takes over a finished survey, which took `spent_ns` of processor time, while `live` bytes are live. Returns the new book, or the
    /// latest book corrected by the survey.
    pub fn surveyed(
        &mut self,
        survey: Survey,
        spent_ns: u64,
        live: u64,
        clock: &mut SessionClock,
        probes: &mut Probes,
    ) -> Option<Book> {
        self.surveying = false;
        let same = self.survey.as_ref().is_some_and(|old| old.distance(&survey) <= live / SAME_STEP);
        self.survey_pause = if same { MOST_SURVEY_PAUSE.min(2 * self.survey_pause) } else { FIRST_SURVEY_PAUSE };
        (self.surveyed_ns, self.spent_ns) = (clock.now_ns(), spent_ns);
        self.next_survey_ns = self.surveyed_ns + self.survey_pause * spent_ns;
        self.survey = Some(survey);
        // A new book if the live bytes are still about as high as in the latest one, or if there is none. Otherwise the
        // survey corrects the latest one.
        let booked = self.readings.as_ref().map_or(0, |readings| readings.counted.live);
        if is_more(booked, live, SAME_STEP) || !spent::fits(Probe::Book, 1, self.surveyed_ns) {
            return self.book();
        }
        self.take_book(clock, probes)
    }

    /// At the end of the recording: a last survey, if the latest book leaves much unexplained. Returns that book again when the
    /// survey explains more of it. A program that maps a lot within a moment may end before the next survey is due.
    pub fn explain_at_end(&mut self) -> Option<Book> {
        if !leaves_much(&self.book()?) {
            return None;
        }
        let mut watch = Stopwatch::start();
        let survey = Survey::take();
        watch.lap(Probe::Survey);
        self.explain_with(survey)
    }

    /// Takes over `survey` if it explains more of the latest book than the one that this was made with.
    fn explain_with(&mut self, survey: Survey) -> Option<Book> {
        let (before, after) = (self.book()?, book::balance(&survey, self.readings.as_ref()?));
        let explains_more = unexplained(&after) < unexplained(&before);
        explains_more.then(|| {
            self.survey = Some(survey);
            after
        })
    }

    /// Takes the book of this instant, once there has been a survey.
    fn take_book(&mut self, clock: &mut SessionClock, probes: &mut Probes) -> Option<Book> {
        let survey = self.survey.as_ref()?;
        with_replay(|replay| replay.tell_new_blocks(probes.new_blocks()));
        let now = clock.now_ns();
        self.readings = Some(probes.book(clock.since_start(now), survey, ledger)?);
        let book = self.book();
        book.iter().for_each(|book| self.judge(book));
        book
    }

    /// Has the next survey made soon, if the book leaves much unexplained: the latest one may be too old.
    fn judge(&mut self, book: &Book) {
        self.wants_survey = leaves_much(book) && self.soon_surveys < MOST_SOON_SURVEYS;
        if !leaves_much(book) {
            self.soon_surveys = 0;
        }
        let soon_ns = self.surveyed_ns + SOON_SURVEY_PAUSE * self.spent_ns;
        if self.wants_survey && soon_ns < self.next_survey_ns {
            self.next_survey_ns = soon_ns;
            self.soon_surveys += 1;
        }
    }

    fn book(&self) -> Option<Book> {
        Some(book::balance(self.survey.as_ref()?, self.readings.as_ref()?))
    }

    /// Whether the recorder should look often, because a book will probably be due soon.
    pub fn is_urgent(&self, now_ns: u64) -> bool {
        let booked = self.readings.as_ref().map_or(0, |readings| readings.counted.live);
        let is_recent = now_ns.saturating_sub(self.peak.1) < MISSED_NS;
        let misses_by = |step| is_recent && is_more(self.peak.0, booked, step);
        // The book of a peak that is so much higher comes in any case once it is late, and a peak may last for less time than a tick.
        misses_by(HIGHER_STEP) || ((self.is_rising || misses_by(MISSED_STEP)) && spent::fits(Probe::Book, 1, now_ns))
    }

    /// Whether there is no book yet and a survey for the first one is under way.
    pub fn awaits_first(&self) -> bool {
        self.readings.is_none() && self.surveying
    }
}

/// Whether `bytes` are more than `others` by more than 1 part in `step`.
fn is_more(bytes: u64, others: u64, step: u64) -> bool {
    bytes > others + others / step
}

#[cfg(test)]
mod tests {
    use alloc_timeline::BookLine;

    use super::*;

    /// The latest book is of 1,024 bytes. With much to spend, the next is of 1,029; with little, of 1,057, and only where the
    /// live bytes are not far below the most so far.
    #[test]
    fn the_less_there_is_to_spend_the_higher_the_next_book() {
        let mut keeper = BookKeeper::new(0);
        keeper.readings = Some(BookReadings::with_live(1_024));
        let at = |keeper: &mut BookKeeper, peak, live, most_books| {
            keeper.peak = (peak, 0);
            keeper.is_due(live, 0, 0, |books| books <= most_books)
        };
        assert_eq!([1_028, 1_029].map(|live| at(&mut keeper, live, live, MORE_BOOKS)), [false, true]);
        assert_eq!([1_056, 1_057].map(|live| at(&mut keeper, live, live, MORE_BOOKS - 1)), [false, true]);
        // 1,024 + 1,024 / 4 is 1,280.
        assert_eq!([1_280, 1_281].map(|live| at(&mut keeper, live, live, 0)), [false, true], "nothing is left");
        // 1,970 + 1,970 / 64 is 2,000.
        assert_eq!([1_960, 1_970].map(|live| at(&mut keeper, 2_000, live, MORE_BOOKS - 1)), [false, true]);
        assert!(at(&mut keeper, 2_000, 1_500, MORE_BOOKS), "the peak may not come back");
        keeper.peak = (1_281, 0);
        let rested = [99, 100].map(|session_ns| keeper.is_due(1_281, session_ns, 5, |_| false));
        assert_eq!(rested, [false, true], "the latest took 5, and 20 times that must be over");
        let late = [1_056, 1_057].map(|live| {
            keeper.peak = (live, 0);
            [LATE_BOOK_NS, LATE_BOOK_NS + 1].map(|session_ns| keeper.is_due(live, session_ns, 0, |_| false))
        });
        assert_eq!(late, [[false, false], [false, true]]);
        keeper.peak = (2_000, 0);
        let later = |live| keeper.is_due(live, BOOK_AGE_NS + 1, 0, |books| books <= MORE_BOOKS);
        assert_eq!([1_019, 1_021].map(later), [false, true], "of equal peaks the latest counts");
    }

    /// The program has 1,000 bytes resident, of which 500 are live. The first survey has seen 100 of the others.
    #[test]
    fn a_last_survey_counts_when_it_explains_more() {
        let survey = |other| {
            let mut survey = Survey::default();
            survey.other.add("a mapping", other);
            survey
        };
        let mut keeper = BookKeeper::new(0);
        let mut readings = BookReadings::with_live(500);
        readings.rss = 1_000;
        keeper.readings = Some(readings);
        keeper.survey = Some(survey(100));
        assert_eq!(keeper.book().map(|book| unexplained(&book)), Some(400));
        assert_eq!(keeper.explain_with(survey(50)), None, "its mappings are gone");
        assert_eq!(keeper.explain_with(survey(490)).map(|book| unexplained(&book)), Some(10));
        assert_eq!(keeper.survey, Some(survey(490)));
    }

    #[test]
    fn a_book_that_explains_too_little_has_the_next_survey_made_soon() {
        let book = |unexplained_mib: i64| {
            let bytes = unexplained_mib << 20;
            let line = BookLine { name: "unexplained".to_owned(), bytes, ..BookLine::default() };
            Book { rss_bytes: 1_000 << 20, lines: vec![line], ..Book::default() }
        };
        let mut keeper = BookKeeper::new(0);
        (keeper.surveyed_ns, keeper.spent_ns) = (5_000, 10);
        let mut next_after = |unexplained| {
            keeper.next_survey_ns = 9_000;
            keeper.judge(&book(unexplained));
            keeper.next_survey_ns
        };
        // 5 of 1,000 are one part in 200. The latest survey ended at 5,000 and took 10.
        assert_eq!((next_after(5), next_after(-5)), (9_000, 9_000));
        assert!((0..MOST_SOON_SURVEYS).all(|_| next_after(-6) == 5_200));
        assert_eq!(next_after(6), 9_000, "not for ever");
        assert_eq!((next_after(0), next_after(6)), (9_000, 5_200));
    }
}
