//! When the recorder takes a book: near the peak, with the mappings as they were surveyed last.
use alloc_timeline::Record;

use super::aside::{Done, Job};
use super::state;
use super::thread::Desk;
use crate::probe::book::{self, Readings, Survey};

/// A tick gets a book of its own when its live bytes are not below the last book's by more than 1 part in this.
const BOOK_STEP: u64 = 256;
/// A book is of the peak when it is not below it by more than 1 part in this ...
const MISSED_STEP: u64 = 64;
/// ... and otherwise a higher one is waited for, in nanoseconds since the peak was first so high.
const MISSED_NS: u64 = 5_000_000_000;
/// A book this old gives way to another one of about the same height, in nanoseconds ...
const BOOK_AGE_NS: u64 = 50_000_000;
/// ... unless it took more than 1 part in this of its age to take.
const BOOK_SHARE: u64 = 200;
/// After a survey the next waits so many times as long as that one took: at first ...
const FIRST_SURVEY_PAUSE: u64 = 50;
/// ... and at the most. As long as they find the same, each pause is twice the one before.
const MOST_SURVEY_PAUSE: u64 = 800;

impl Desk {
    /// Has the mappings looked at again, unless that was done so lately that it would cost too much of the time.
    fn survey(&mut self) {
        if !self.surveying && self.now() >= self.next_survey_ns {
            self.surveying = true;
            self.aside.ask(Job::Survey);
        }
    }

    /// Takes in what was done aside.
    pub(super) fn take_in(&mut self) {
        while let Some(done) = self.aside.done() {
            self.take(done);
        }
    }

    fn take(&mut self, done: Done) {
        match done {
            Done::Survey(survey, spent_ns) => {
                self.surveying = false;
                let live = self.live();
                let same = self.survey.zip(survey).is_some_and(|(old, new)| old.distance(&new) <= live / BOOK_STEP);
                self.survey_pause =
                    if same { MOST_SURVEY_PAUSE.min(2 * self.survey_pause) } else { FIRST_SURVEY_PAUSE };
                self.next_survey_ns = self.now() + self.survey_pause * spent_ns;
                self.survey = survey.or(self.survey).or(Some(Survey::default()));
                // As high as the book still, or no book yet: another one. Otherwise the book that there is, put right.
                if self.is_high(live) {
                    self.take_book();
                } else {
                    self.write_book();
                }
            }
            Done::Log(written) => self.output.shortened(written),
        }
    }

    fn live(&self) -> u64 {
        state::work(|state| state.as_ref().map_or(0, |replay| replay.live.max(0) as u64))
    }

    /// Whether `live` bytes are no less than those of the book, or about as many.
    fn is_high(&self, live: u64) -> bool {
        let booked = self.readings.as_ref().map_or(0, |readings| readings.live);
        live >= booked - booked / BOOK_STEP
    }

    /// Whether the book is so much lower than the peak that a better one should be waited for, for some seconds.
    pub(super) fn misses_peak(&self) -> bool {
        let booked = self.readings.as_ref().map_or(0, |readings| readings.live + readings.live / MISSED_STEP);
        let (_, peak) = self.peak_event;
        peak > booked as i64 && self.now_ns.saturating_sub(self.peak_ns) < MISSED_NS
    }

    /// Between two ticks: reads what is there, and takes a book when it is time for one.
    pub(super) fn look_up(&mut self) {
        self.take_in();
        let live = self.live();
        self.note_events();
        self.book_near_peak(live);
    }

    /// Takes a book if `live` bytes are the most so far, or about as many as those of a book of some time ago: of equal
    /// peaks the latest counts.
    pub(super) fn book_near_peak(&mut self, live: u64) {
        let now = self.now();
        self.is_rising = true;
        if let Some(readings) = &self.readings {
            let (step, age) = (readings.live / BOOK_STEP, self.since_start(now).saturating_sub(readings.time_ns));
            let stands_ns = BOOK_AGE_NS.max(BOOK_SHARE * self.book_ns);
            self.is_rising = live > readings.live + step;
            if !self.is_rising && (live < readings.live - step || age <= stands_ns) {
                return;
            }
        }
        self.survey();
        self.take_book();
    }

    /// Takes the book of this instant, once there has been a survey.
    fn take_book(&mut self) {
        if self.survey.is_none() {
            return;
        }
        let Some((live, requested)) = state::work(|state| Some(state.as_ref()?.sums())) else { return };
        let now = self.now();
        if let Some(readings) = Readings::take(self.since_start(now), live, requested) {
            self.readings = Some(readings);
            self.write_book();
        }
        self.book_ns = self.now() - now;
    }

    fn write_book(&mut self) {
        if let (Some(survey), Some(readings)) = (&self.survey, &self.readings) {
            self.output.record(Record::Book(book::balance(survey, readings)));
        }
    }

    /// Where there is no book yet, waits for the survey that one is to be taken with.
    pub(super) fn await_book(&mut self) {
        while self.readings.is_none() && self.surveying {
            match self.aside.wait() {
                Some(done) => self.take(done),
                None => break,
            }
        }
    }
}
