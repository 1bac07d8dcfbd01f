//! Completes books by the account beyond the resident set. Its readings walk all pages of the process, so the background
//! thread makes them; the latest book is written again when they are there.
use alloc_timeline::Book;

use super::background::{Background, Job};
use crate::probe::beyond::{self, BeyondReadings};

/// The pause after readings, as a multiple of the time that they took: they take half a percent of the time at most.
const PAUSE: u64 = 200;
/// Readings are of another resident set when that differs from the book's by more than 1 part in this.
const FAR: u64 = 100;

/// The latest book and its readings.
#[derive(Debug, Default)]
pub struct BeyondKeeper {
    /// The latest book, without the account.
    book: Option<Book>,
    /// The readings whose resident set is nearest to that book's.
    readings: Option<BeyondReadings>,
    /// Whether readings were asked for and are not there yet.
    is_reading: bool,
    /// Whether the book came after the latest readings were asked for.
    is_newer: bool,
    next_ns: u64,
}

impl BeyondKeeper {
    /// Adds to a new book what is known now. `now_ns` is the clock's time.
    pub fn complete(&mut self, book: Book, now_ns: u64, background: &Background) -> Book {
        self.book = Some(book.clone());
        self.is_newer = true;
        self.ask(now_ns, background);
        self.completed().unwrap_or(book)
    }

    /// Asks for readings, if there is a book that has none of its own, and the pause is over.
    pub fn ask(&mut self, now_ns: u64, background: &Background) {
        if self.is_newer && !self.is_reading && now_ns >= self.next_ns {
            (self.is_reading, self.is_newer) = (true, false);
            background.ask(Job::Beyond);
        }
    }

    /// Takes over readings, which took `spent_ns`; returns the latest book with them.
    pub fn read(&mut self, readings: BeyondReadings, spent_ns: u64, now_ns: u64) -> Option<Book> {
        self.is_reading = false;
        self.next_ns = now_ns.saturating_add(PAUSE * spent_ns);
        let rss = self.book.as_ref()?.rss_bytes;
        let distance = |readings: &BeyondReadings| readings.distance(rss);
        if self.readings.as_ref().is_none_or(|kept| distance(&readings) <= distance(kept)) {
            self.readings = Some(readings);
        }
        self.completed()
    }

    /// Reads once more if the readings so far are of another resident set than the latest book's; returns the latest
    /// book with the new ones. For the end of a recording, when nothing waits for the kernel's walk over all pages.
    pub fn read_at_end(&mut self, now_ns: u64) -> Option<Book> {
        let rss = self.book.as_ref()?.rss_bytes;
        let is_near = self.readings.as_ref().is_some_and(|kept| kept.distance(rss) <= rss / FAR);
        if is_near { None } else { self.read(BeyondReadings::take(), 0, now_ns) }
    }

    /// Whether there are no readings yet, and the first are under way.
    pub fn awaits_first(&self) -> bool {
        self.readings.is_none() && self.is_reading
    }

    fn completed(&self) -> Option<Book> {
        let (book, readings) = (self.book.clone()?, self.readings.as_ref()?);
        Some(Book { beyond: beyond::lines(book.rss_bytes, readings), ..book })
    }
}
