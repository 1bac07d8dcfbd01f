//! The coarse books: the resident set of each sample as a sum of a few lines, which the recorder's probes read.
//!
//! A timeline has no coarse books as such. It has a column for each line, and this module puts the columns of one sample
//! together. `unexplained` is what is left, with its sign, so that the lines sum to the resident set.
use std::cmp::Ordering;

use alloc_timeline::{Book, BookLine, Timeline};

use crate::model::{COARSE_ALLOCATOR, UNEXPLAINED, time};

/// Each line but the first and the last with its column and its sign, in the order of the book.
const LINES: [(&str, &str, i64); 6] = [
    (COARSE_ALLOCATOR, "rss_allocator", 1),
    ("claimed but never touched", "rss_untouched", -1),
    ("tracker", "rss_tracker", 1),
    ("stacks", "rss_stacks", 1),
    ("other memory", "rss_other", 1),
    ("files", "rss_files", 1),
];

/// The coarse books of one timeline.
pub struct CoarseBooks<'a> {
    timeline: &'a Timeline,
    rss: &'a [Option<u64>],
    lines: Vec<Line<'a>>,
}

/// One column of the books.
struct Line<'a> {
    name: &'static str,
    sign: i64,
    readings: &'a [Option<u64>],
    /// For each sample, the sample whose reading counts for it: its own, or else the one before it, or else the first.
    read_at: Vec<Option<usize>>,
}

impl<'a> CoarseBooks<'a> {
    /// The coarse books of a timeline; `None` where no sample has one.
    pub fn new(timeline: &'a Timeline) -> Option<CoarseBooks<'a>> {
        let probes = &timeline.series.probes;
        let rss = probes.get("rss")?;
        let lines: Vec<Line> = LINES
            .into_iter()
            .filter_map(|(name, probe, sign)| Some(Line::new(name, sign, probes.get(probe)?)))
            .filter(|line| line.read_at.iter().any(Option::is_some))
            .collect();
        let any = !lines.is_empty() && rss.iter().any(Option::is_some);
        any.then_some(CoarseBooks { timeline, rss, lines })
    }

    /// The book of the sample with this index; `None` where its resident set was not read.
    pub fn at(&self, index: usize) -> Option<Book> {
        let series = &self.timeline.series;
        let (time_ns, live_bytes) = (*series.time_ns.get(index)?, *series.live_bytes.get(index)?);
        let rss_bytes = (*self.rss.get(index)?)?;
        let mut lines = vec![line("live", i64::try_from(live_bytes).ok()?, "the ledger, in the sample".to_owned())];
        for column in &self.lines {
            let Some(read_at) = column.read_at.get(index).copied().flatten() else { continue };
            let bytes = i64::try_from(column.readings[read_at]?).ok()?;
            lines.push(line(column.name, column.sign * bytes, self.source(read_at, index)));
        }
        let sum: i128 = lines.iter().map(|line| i128::from(line.bytes)).sum();
        let rest = i64::try_from(i128::from(rss_bytes) - sum).ok()?;
        lines.push(line(UNEXPLAINED, rest, self.source_of_rest()));
        Some(Book { time_ns, live_bytes, rss_bytes, lines, beyond: Vec::new() })
    }

    /// The book of the sample nearest to this instant; of two that are equally near, the earlier one.
    pub fn nearest(&self, time_ns: u64) -> Option<Book> {
        let times = &self.timeline.series.time_ns;
        let read = (0..times.len()).filter(|&index| self.rss.get(index).is_some_and(Option::is_some));
        self.at(read.min_by_key(|&index| times[index].abs_diff(time_ns))?)
    }

    /// Where a reading comes from, and how old it is.
    fn source(&self, read_at: usize, index: usize) -> String {
        let times = &self.timeline.series.time_ns;
        let distance = time(times[index].abs_diff(times[read_at]));
        match read_at.cmp(&index) {
            Ordering::Equal => "the sample's reading".to_owned(),
            Ordering::Less => format!("read {distance} before the sample"),
            Ordering::Greater => format!("read {distance} after the sample"),
        }
    }

    /// What the last line is, and which readings it lacks.
    fn source_of_rest(&self) -> String {
        let missing: Vec<&str> = LINES
            .iter()
            .filter(|known| self.lines.iter().all(|line| line.name != known.0))
            .map(|line| line.0)
            .collect();
        match missing.as_slice() {
            [] => "RSS less the lines above".to_owned(),
            missing => format!("RSS less the lines above; not read: {}", missing.join(", ")),
        }
    }
}

impl<'a> Line<'a> {
    fn new(name: &'static str, sign: i64, readings: &'a [Option<u64>]) -> Line<'a> {
        let mut latest = readings.iter().position(Option::is_some);
        let read_at = readings.iter().enumerate().map(|(index, reading)| {
            latest = reading.map(|_| index).or(latest);
            latest
        });
        Line { name, sign, readings, read_at: read_at.collect() }
    }
}

fn line(name: &str, bytes: i64, source: String) -> BookLine {
    BookLine { name: name.to_owned(), bytes, source, parts: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::{tiny, with_coarse_columns};

    fn lines(book: &Book) -> Vec<(&str, i64)> {
        book.lines.iter().map(|line| (line.name.as_str(), line.bytes)).collect()
    }

    #[test]
    fn the_lines_of_a_sample_sum_to_its_resident_set() {
        let timeline = with_coarse_columns(tiny());
        let books = CoarseBooks::new(&timeline).unwrap();
        // Live are 14,976 bytes of sample 3; its resident set is 19,072, and the fixture's columns are the other lines.
        let book = books.at(3).unwrap();
        let expected = [
            ("live", 14_976),
            ("allocator", 3000),
            ("claimed but never touched", -500),
            ("tracker", 300),
            ("stacks", 200),
            ("other memory", 100),
            ("files", 1000),
            ("unexplained", -4),
        ];
        assert_eq!(lines(&book), expected);
        assert_eq!(book.lines.iter().map(|line| line.bytes).sum::<i64>(), 19_072);
        assert_eq!(book.rss_bytes, 19_072);
    }

    #[test]
    fn a_reading_that_failed_is_that_of_the_sample_before_and_says_so() {
        let mut timeline = with_coarse_columns(tiny());
        let stacks = timeline.series.probes.get_mut("rss_stacks").unwrap();
        (stacks[0], stacks[3]) = (None, None);
        let books = CoarseBooks::new(&timeline).unwrap();
        let stacks =
            |index: usize| books.at(index).unwrap().lines.into_iter().find(|line| line.name == "stacks").unwrap();
        assert_eq!((stacks(3).bytes, stacks(3).source.as_str()), (200, "read 1.0 ms before the sample"));
        assert_eq!((stacks(0).bytes, stacks(0).source.as_str()), (200, "read 1.0 ms after the sample"));
    }

    #[test]
    fn what_was_never_read_is_left_out_and_named_in_the_rest() {
        let mut timeline = with_coarse_columns(tiny());
        timeline.series.probes.remove("rss_stacks");
        timeline.series.probes.insert("rss_other".into(), vec![None; 6]);
        let book = CoarseBooks::new(&timeline).unwrap().at(3).unwrap();
        let rest = book.lines.last().unwrap();
        assert_eq!((rest.name.as_str(), rest.bytes), (UNEXPLAINED, 296));
        assert_eq!(rest.source, "RSS less the lines above; not read: stacks, other memory");
    }

    #[test]
    fn the_nearest_sample_is_one_whose_resident_set_was_read() {
        let mut timeline = with_coarse_columns(tiny());
        let books = CoarseBooks::new(&timeline).unwrap();
        assert_eq!(books.nearest(3_700_000).unwrap().time_ns, 3_500_000);
        assert_eq!(books.nearest(u64::MAX).unwrap().time_ns, 5_500_000);
        timeline.series.probes.get_mut("rss").unwrap()[3] = None;
        let books = CoarseBooks::new(&timeline).unwrap();
        assert!(books.at(3).is_none());
        assert_eq!(books.nearest(3_700_000).unwrap().time_ns, 4_500_000);
    }

    #[test]
    fn an_older_timeline_has_none() {
        assert!(CoarseBooks::new(&tiny()).is_none());
        let mut timeline = with_coarse_columns(tiny());
        timeline.series.probes.insert("rss".into(), vec![None; 6]);
        assert!(CoarseBooks::new(&timeline).is_none());
    }

    #[test]
    fn numbers_that_no_machine_has_give_no_book() {
        let mut timeline = with_coarse_columns(tiny());
        timeline.series.probes.get_mut("rss_files").unwrap()[3] = Some(u64::MAX);
        assert!(CoarseBooks::new(&timeline).unwrap().at(3).is_none());
    }
}
