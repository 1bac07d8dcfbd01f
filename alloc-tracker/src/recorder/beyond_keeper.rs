//! Completes books by the account beyond the resident set. Its readings walk all pages of the process, so the background
//! thread makes them; the latest book is written again when they are there.
use std::time::Duration;

use alloc_timeline::Book;

use super::background::{Background, Job};
use crate::probe::beyond::{self, BeyondReadings, NEIGHBOURS};
use crate::probe::spent::{self, Probe, Stopwatch};

/// Readings are of another resident set when that differs from the book's by more than 1 part in this.
const FAR: u64 = 100;

/// Of what is left for readings, the other processes of the group get one part in this, so that some is left for the next.
const NEIGHBOURS_PART: u64 = 4;

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
}

impl BeyondKeeper {
    /// Adds to a new book what is known now. `now_ns` is the clock's time.
    pub fn complete(&mut self, book: Book, now_ns: u64, background: &Background) -> Book {
        self.book = Some(book.clone());
        self.is_newer = true;
        self.ask(now_ns, background);
        self.completed().unwrap_or(book)
    }

    /// Asks for readings, if there is a book that has none of its own, and they fit into what they may take.
    pub fn ask(&mut self, now_ns: u64, background: &Background) {
        if !self.is_newer || self.is_reading {
            return;
        }
        if let Some(left_ns) = self.left_ns(now_ns) {
            (self.is_reading, self.is_newer) = (true, false);
            background.ask(Job::Beyond(Duration::from_nanos(left_ns / NEIGHBOURS_PART)));
        }
    }

    /// What would be left of the time for readings after one of the latest book's resident set; `None` when it does not fit.
    fn left_ns(&self, now_ns: u64) -> Option<u64> {
        let rss = self.book.as_ref()?.rss_bytes;
        let expected_ns = self.readings.as_ref().map_or(0, |readings| readings.expected_ns(rss));
        spent::left_ns(Probe::Beyond, now_ns).checked_sub(expected_ns)
    }

    /// Takes over readings; returns the latest book with them.
    pub fn read(&mut self, readings: BeyondReadings) -> Option<Book> {
        self.is_reading = false;
        let rss = self.book.as_ref()?.rss_bytes;
        let distance = |readings: &BeyondReadings| readings.distance(rss);
        if self.readings.as_ref().is_none_or(|kept| distance(&readings) <= distance(kept)) {
            self.readings = Some(readings);
        }
        self.completed()
    }

    /// Reads once more if the readings so far are of another resident set than the latest book's, or without some of the other
    /// processes, and more of them fit; returns the latest book with the new ones. For the end of a recording.
    pub fn read_at_end(&mut self, now_ns: u64) -> Option<Book> {
        let rss = self.book.as_ref()?.rss_bytes;
        let is_whole = |kept: &BeyondReadings| kept.distance(rss) <= rss / FAR && !kept.lacks_neighbours();
        if self.readings.as_ref().is_some_and(is_whole) || self.left_ns(now_ns).is_none() {
            return None;
        }
        let mut watch = Stopwatch::start();
        let readings = BeyondReadings::take(NEIGHBOURS);
        watch.lap(Probe::Beyond);
        self.read(readings)
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
