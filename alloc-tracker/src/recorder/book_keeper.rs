//! Decides when the recorder takes a book, which is the account of the resident set: near the peak of the live bytes,
//! with the latest survey of the mappings.
use alloc_timeline::Book;

use super::background::{Background, Job};
use super::clock::SessionClock;
use super::state::with_replay;
use crate::probe::book::{self, BookReadings, Survey};

/// A tick gets a book of its own when its live bytes are not below the last book's by more than 1 part in this.
const BOOK_STEP: u64 = 256;
/// A book counts as the peak's when it is not below the peak by more than 1 part in this ...
const MISSED_STEP: u64 = 64;
/// ... and otherwise the recorder waits for a higher one, for so many nanoseconds since the peak was first so high.
const MISSED_NS: u64 = 5_000_000_000;
/// A book of about the same live bytes replaces one that is older than so many nanoseconds ...
const BOOK_AGE_NS: u64 = 50_000_000;
/// ... unless taking that one took more than 1 part in this of its age.
const BOOK_SHARE: u64 = 200;
/// The pause after a survey, as a multiple of the time that the survey took: at first ...
const FIRST_SURVEY_PAUSE: u64 = 50;
/// ... and at most. As long as surveys find the same, each pause is twice the one before.
const MOST_SURVEY_PAUSE: u64 = 800;

/// The latest book, and what decides when the next one is due.
#[derive(Debug)]
pub struct BookKeeper {
    /// The readings of the latest book.
    readings: Option<BookReadings>,
    /// How many nanoseconds these readings took.
    book_ns: u64,
    survey: Option<Survey>,
    /// Whether a survey was asked for and has not ended.
    surveying: bool,
    next_survey_ns: u64,
    survey_pause: u64,
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
            let (step, age) = (readings.live / BOOK_STEP, clock.since_start(now).saturating_sub(readings.time_ns));
            let stands_ns = BOOK_AGE_NS.max(BOOK_SHARE * self.book_ns);
            self.is_rising = live > readings.live + step;
            if !self.is_rising && (live < readings.live - step || age <= stands_ns) {
                return None;
            }
        }
        self.ask_for_survey(now, background);
        self.take_book(clock)
    }

    /// Asks for a survey of the mappings, unless one is under way or the pause after the last one is not over.
    fn ask_for_survey(&mut self, now_ns: u64, background: &Background) {
        if !self.surveying && now_ns >= self.next_survey_ns {
            self.surveying = true;
            background.ask(Job::Survey);
        }
    }

    /// Takes over a finished survey, which took `spent_ns`, while `live` bytes are live. Returns the new book, or the
    /// latest book corrected by the survey.
    pub fn surveyed(
        &mut self,
        survey: Option<Survey>,
        spent_ns: u64,
        live: u64,
        clock: &mut SessionClock,
    ) -> Option<Book> {
        self.surveying = false;
        let same = self.survey.zip(survey).is_some_and(|(old, new)| old.distance(&new) <= live / BOOK_STEP);
        self.survey_pause = if same { MOST_SURVEY_PAUSE.min(2 * self.survey_pause) } else { FIRST_SURVEY_PAUSE };
        self.next_survey_ns = clock.now_ns() + self.survey_pause * spent_ns;
        self.survey = survey.or(self.survey).or(Some(Survey::default()));
        // A new book if the live bytes are still about as high as in the latest one, or if there is none. Otherwise the
        // survey corrects the latest one.
        let booked = self.readings.as_ref().map_or(0, |readings| readings.live);
        if live >= booked - booked / BOOK_STEP { self.take_book(clock) } else { self.book() }
    }

    /// Takes the book of this instant, once there has been a survey.
    fn take_book(&mut self, clock: &mut SessionClock) -> Option<Book> {
        self.survey?;
        let sums = with_replay(|replay| replay.live_sums())?;
        let now = clock.now_ns();
        let readings = BookReadings::take(clock.since_start(now), sums.usable_bytes, sums.requested_bytes);
        let taken = readings.is_some();
        self.readings = readings.or(self.readings);
        self.book_ns = clock.now_ns() - now;
        if taken { self.book() } else { None }
    }

    fn book(&self) -> Option<Book> {
        Some(book::balance(self.survey.as_ref()?, self.readings.as_ref()?))
    }

    /// Whether the recorder should look often, because a book will probably be due soon.
    pub fn is_urgent(&self, now_ns: u64) -> bool {
        let booked = self.readings.as_ref().map_or(0, |readings| readings.live + readings.live / MISSED_STEP);
        let misses_peak = self.peak.0 > booked && now_ns.saturating_sub(self.peak.1) < MISSED_NS;
        self.is_rising || misses_peak
    }

    /// Whether there is no book yet and a survey for the first one is under way.
    pub fn awaits_first(&self) -> bool {
        self.readings.is_none() && self.surveying
    }
}
