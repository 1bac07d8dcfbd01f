//! When the recorder takes a book: near the peak, with the mappings as they were surveyed last.
use alloc_timeline::Record;

use super::aside::{Done, Job};
use super::state;
use super::thread::Desk;
use crate::probe::book::{self, Readings, Survey};

/// A tick gets a book of its own when its live bytes are not below the last book's by more than 1 part in this.
const BOOK_STEP: u64 = 256;
/// A book this old gives way to another one of about the same height, in nanoseconds.
const BOOK_AGE_NS: u64 = 50_000_000;

impl Desk {
    /// Has the mappings looked at again, unless that was done so lately that it would cost more than 2 % of the time.
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
                self.next_survey_ns = self.now() + 50 * spent_ns;
                self.survey = survey.or(self.survey).or(Some(Survey::default()));
                // As high as the book still, or no book yet: another one. Otherwise the book that there is, put right.
                if self.is_high(self.live()) {
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

    /// Between two ticks: reads what is there, and takes a book when it is time for one.
    pub(super) fn look_up(&mut self) {
        self.take_in();
        self.book_near_peak(self.live());
    }

    /// Takes a book if `live` bytes are the most so far, or about as many as those of a book of some time ago: of equal
    /// peaks the latest counts.
    pub(super) fn book_near_peak(&mut self, live: u64) {
        let now = self.now();
        if let Some(readings) = &self.readings {
            let (step, age) = (readings.live / BOOK_STEP, self.since_start(now).saturating_sub(readings.time_ns));
            if live <= readings.live + step && (live < readings.live - step || age <= BOOK_AGE_NS) {
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
        let live = state::work(|state| {
            let snapshot = state.as_ref()?.snapshot_now(0);
            Some((snapshot.live_bytes, snapshot.requested_bytes))
        });
        let Some((live, requested)) = live else { return };
        let now = self.now();
        if let Some(readings) = Readings::take(self.since_start(now), live, requested) {
            self.readings = Some(readings);
            self.write_book();
        }
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
