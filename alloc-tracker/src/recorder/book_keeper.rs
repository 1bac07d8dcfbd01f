//! Decides when the recorder takes a book, which is the account of the resident set: near the peak of the live bytes,
//! with the latest survey of the mappings.
use alloc_timeline::Book;

use super::background::{Background, Job};
use super::clock::SessionClock;
use super::state::with_replay;
use crate::probe::book::{self, BookReadings};
use crate::probe::survey::Survey;
use crate::sys;

/// A tick gets a book of its own when its live bytes are not below the last book's by more than 1 part in this.
const BOOK_STEP: u64 = 256;
/// A book counts as the peak's when it is not below the peak by more than 1 part in this ...
const MISSED_STEP: u64 = 64;
/// ... and otherwise the recorder waits for a higher one, for so many nanoseconds since the peak was first so high.
const MISSED_NS: u64 = 5_000_000_000;
/// A book of about the same live bytes replaces one that is older than so many nanoseconds ...
const BOOK_AGE_NS: u64 = 50_000_000;
/// ... unless taking that one took more than 1 part in this of its age.
const BOOK_SHARE: u64 = 400;
/// The pause after a survey, as a multiple of the processor time that the survey took: at first ...
const FIRST_SURVEY_PAUSE: u64 = 400;
/// ... and at most. As long as surveys find the same, each pause is twice the one before.
const MOST_SURVEY_PAUSE: u64 = 800;

/// A book that leaves more than 1 part in this of the resident set unexplained has the next survey made soon ...
const UNEXPLAINED_STEP: u64 = 200;
/// ... when so many times the processor time is over that the last one took ...
const SOON_SURVEY_PAUSE: u64 = 20;
/// ... but only so many in a row, because some programs have memory that no survey explains.
const MOST_SOON_SURVEYS: u32 = 8;

/// The book of this instant, with a survey that was made just before. `None` when the resident set cannot be read.
pub fn book_now(survey: &Survey, clock: &mut SessionClock) -> Option<Book> {
    // The ledger's totals are whole only when the events in the ring have been read.
    with_replay(|_| ());
    let now = clock.now_ns();
    let readings = BookReadings::take(clock.since_start(now), survey)?;
    Some(book::balance(survey, &readings))
}

/// While the live bytes are rising, a book follows the one before after so many times the processor time that that one took.
const RISING_SHARE: u64 = 8;

/// The latest book, and what decides when the next one is due.
#[derive(Debug)]
pub struct BookKeeper {
    /// The readings of the latest book.
    readings: Option<BookReadings>,
    /// How many nanoseconds of processor time these readings took.
    book_ns: u64,
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
    /// Whether the live bytes are higher than ever before.
    is_rising: bool,
}

impl BookKeeper {
    /// A book keeper that has taken no book yet.
    pub fn new(now_ns: u64) -> Self {
        BookKeeper {
            readings: None,
            book_ns: 0,
            survey: None,
            surveying: false,
            next_survey_ns: 0,
            survey_pause: 0,
            surveyed_ns: now_ns,
            spent_ns: 0,
            soon_surveys: 0,
            peak: (0, now_ns),
            is_rising: true,
        }
    }

    /// Tells the book keeper that the peak is now `live_bytes`.
    pub fn peak_is(&mut self, live_bytes: u64, now_ns: u64) {
        if live_bytes > self.peak.0 {
            self.peak = (live_bytes, now_ns);
        }
    }

    /// Takes a book if `live` bytes are the most so far, or about as many as those of a book of some time ago: of equal
    /// peaks the latest counts.
    pub fn look(&mut self, live: u64, clock: &mut SessionClock, background: &Background) -> Option<Book> {
        let now = clock.now_ns();
        self.is_rising = true;
        if let Some(readings) = &self.readings {
            let (step, age) =
                (readings.counted.live / BOOK_STEP, clock.since_start(now).saturating_sub(readings.time_ns));
            let stands_ns = BOOK_AGE_NS.max(BOOK_SHARE * self.book_ns);
            self.is_rising = live > readings.counted.live + step;
            if self.is_rising && age < RISING_SHARE * self.book_ns {
                return None;
            }
            if !self.is_rising && (live < readings.counted.live - step || age <= stands_ns) {
                return None;
            }
        }
        self.keep_surveyed(now, background);
        self.take_book(clock)
    }

    /// The latest survey.
    pub fn survey(&self) -> Option<&Survey> {
        self.survey.as_ref()
    }

    /// Asks for a survey of the mappings, which every sample uses, unless one is under way or the pause after the last one is not over.
    pub fn keep_surveyed(&mut self, now_ns: u64, background: &Background) {
        if !self.surveying && now_ns >= self.next_survey_ns {
            self.surveying = true;
            background.ask(Job::Survey);
        }
    }

    /// Takes over a finished survey, which took `spent_ns` of processor time, while `live` bytes are live. Returns the new book, or the
    /// latest book corrected by the survey.
    pub fn surveyed(&mut self, survey: Survey, spent_ns: u64, live: u64, clock: &mut SessionClock) -> Option<Book> {
        self.surveying = false;
        let same = self.survey.as_ref().is_some_and(|old| old.distance(&survey) <= live / BOOK_STEP);
        self.survey_pause = if same { MOST_SURVEY_PAUSE.min(2 * self.survey_pause) } else { FIRST_SURVEY_PAUSE };
        (self.surveyed_ns, self.spent_ns) = (clock.now_ns(), spent_ns);
        self.next_survey_ns = self.surveyed_ns + self.survey_pause * spent_ns;
        self.survey = Some(survey);
        // A new book if the live bytes are still about as high as in the latest one, or if there is none. Otherwise the
        // survey corrects the latest one.
        let booked = self.readings.as_ref().map_or(0, |readings| readings.counted.live);
        if live >= booked - booked / BOOK_STEP { self.take_book(clock) } else { self.book() }
    }

    /// Takes the book of this instant, once there has been a survey.
    fn take_book(&mut self, clock: &mut SessionClock) -> Option<Book> {
        let survey = self.survey.as_ref()?;
        // The ledger's totals are whole only when the events in the ring have been read.
        with_replay(|_| ());
        let (now, began) = (clock.now_ns(), sys::thread_cpu_ns());
        let readings = BookReadings::take(clock.since_start(now), survey);
        let taken = readings.is_some();
        self.readings = readings.or(self.readings.take());
        self.book_ns = sys::thread_cpu_ns().saturating_sub(began);
        let book = if taken { self.book() } else { None };
        book.iter().for_each(|book| self.judge(book));
        book
    }

    /// Has the next survey made soon, if the book leaves much unexplained: the latest one may be too old.
    fn judge(&mut self, book: &Book) {
        let unexplained = book.lines.last().map_or(0, |line| line.bytes.unsigned_abs());
        if unexplained <= book.rss_bytes / UNEXPLAINED_STEP {
            self.soon_surveys = 0;
            return;
        }
        let soon_ns = self.surveyed_ns + SOON_SURVEY_PAUSE * self.spent_ns;
        if self.soon_surveys < MOST_SOON_SURVEYS && soon_ns < self.next_survey_ns {
            self.next_survey_ns = soon_ns;
            self.soon_surveys += 1;
        }
    }

    fn book(&self) -> Option<Book> {
        Some(book::balance(self.survey.as_ref()?, self.readings.as_ref()?))
    }

    /// Whether the recorder should look often, because a book will probably be due soon.
    pub fn is_urgent(&self, now_ns: u64) -> bool {
        let booked =
            self.readings.as_ref().map_or(0, |readings| readings.counted.live + readings.counted.live / MISSED_STEP);
        let misses_peak = self.peak.0 > booked && now_ns.saturating_sub(self.peak.1) < MISSED_NS;
        self.is_rising || misses_peak
    }

    /// Whether there is no book yet and a survey for the first one is under way.
    pub fn awaits_first(&self) -> bool {
        self.readings.is_none() && self.surveying
    }
}

#[cfg(test)]
mod tests {
    use alloc_timeline::BookLine;

    use super::*;

    #[test]
    fn a_book_that_explains_too_little_has_the_next_survey_made_soon() {
        let book = |unexplained| {
            let line = BookLine { name: "unexplained".to_owned(), bytes: unexplained, ..BookLine::default() };
            Book { rss_bytes: 1_000, lines: vec![line], ..Book::default() }
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
