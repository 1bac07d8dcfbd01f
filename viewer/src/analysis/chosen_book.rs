//! The book that somebody asks for: that of the peak, of a mark, or of an instant.
use std::borrow::Cow;

use alloc_timeline::{Book, MarkBook, Timeline};
use thiserror::Error;

use crate::analysis::coarse::CoarseBooks;
use crate::model::{parse_time, time};

/// What asks for the book of the peak.
pub const PEAK: &str = "peak";

/// The most names of marks in a message.
const MOST_NAMES: usize = 12;

/// A book, and why it is the one that was asked for.
#[derive(Clone, Debug)]
pub struct ChosenBook<'a> {
    /// What was asked for.
    pub at: Asked,
    /// The book.
    pub book: Cow<'a, Book>,
    /// Whether it is a coarse book, put together from the columns of the sample nearest to what was asked for.
    pub coarse: bool,
}

/// What somebody asked the book of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The instant with the most live bytes.
    Peak,
    /// A mark.
    Mark {
        /// Its name.
        name: String,
        /// When it was, since the session began.
        time_ns: u64,
        /// Which of the marks of this name it was; the first is 1.
        number: usize,
        /// How many marks have this name.
        of: usize,
        /// How many of these have a fine book.
        with_book: usize,
    },
    /// An instant, since the session began.
    Time(u64),
}

/// Why there is no book of what was asked for. The message names what there is instead.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoBook {
    /// It is neither a mark's name nor a time.
    #[error("no mark is called '{asked}', and it is no time such as 1.5s or 300ms; {exists}")]
    Unknown {
        /// What was asked for.
        asked: String,
        /// What the timeline has.
        exists: String,
    },
    /// It is after the end of the session.
    #[error("{} is after the end of the session, which took {}; {exists}", time(*asked_ns), time(*duration_ns))]
    AfterEnd {
        /// What was asked for.
        asked_ns: u64,
        /// The length of the session.
        duration_ns: u64,
        /// What the timeline has.
        exists: String,
    },
    /// The samples have no coarse books.
    #[error("the samples of this timeline have no coarse books, so there is none of '{asked}'; {exists}")]
    NoCoarseBooks {
        /// What was asked for.
        asked: String,
        /// What the timeline has.
        exists: String,
    },
}

/// The book of `at`: `peak`, the name of a mark, or a time such as `1.5s`. `None` when the timeline has no book of its
/// peak, and no coarse ones either.
///
/// # Errors
/// When `at` is none of these, or the timeline has no book of it.
pub fn book_at<'a>(timeline: &'a Timeline, at: &str) -> Result<Option<ChosenBook<'a>>, NoBook> {
    if at == PEAK {
        let nearest = || CoarseBooks::new(timeline)?.nearest(timeline.peak.time_ns);
        let fine = timeline.book.as_ref().map(|book| (Cow::Borrowed(book), false));
        let found = fine.or_else(|| Some((Cow::Owned(nearest()?), true)));
        return Ok(found.map(|(book, coarse)| ChosenBook { at: Asked::Peak, book, coarse }));
    }
    if let Some((asked, time_ns, fine)) = mark(timeline, at) {
        return match fine {
            Some(fine) => Ok(Some(ChosenBook { at: asked, book: Cow::Borrowed(&fine.book), coarse: false })),
            None => coarse(timeline, asked, at, time_ns).map(Some),
        };
    }
    let unknown = || NoBook::Unknown { asked: at.to_owned(), exists: what_exists(timeline) };
    let time_ns = parse_time(at).ok_or_else(unknown)?;
    // A log that was cut short may have samples after the last known end.
    let end = timeline.series.time_ns.last().copied().unwrap_or(0).max(timeline.duration_ns);
    if time_ns > end {
        return Err(NoBook::AfterEnd { asked_ns: time_ns, duration_ns: end, exists: what_exists(timeline) });
    }
    coarse(timeline, Asked::Time(time_ns), at, time_ns).map(Some)
}

/// The coarse book nearest to an instant.
fn coarse<'a>(timeline: &'a Timeline, at: Asked, text: &str, time_ns: u64) -> Result<ChosenBook<'a>, NoBook> {
    let book = CoarseBooks::new(timeline).and_then(|books| books.nearest(time_ns));
    let book = book.ok_or_else(|| NoBook::NoCoarseBooks { asked: text.to_owned(), exists: what_exists(timeline) })?;
    Ok(ChosenBook { at, book: Cow::Owned(book), coarse: true })
}

/// The latest mark of this name that has a book, when it was, and its book; or else the latest of them. `None` when there
/// is none.
fn mark<'a>(timeline: &'a Timeline, name: &str) -> Option<(Asked, u64, Option<&'a MarkBook>)> {
    let times: Vec<u64> = timeline.marks.iter().filter(|mark| mark.name == name).map(|mark| mark.time_ns).collect();
    let books: Vec<&MarkBook> = timeline.mark_books.iter().filter(|book| book.name == name).collect();
    let latest = books.iter().max_by_key(|book| book.time_ns).copied();
    let time_ns = latest.map(|book| book.time_ns).or(times.iter().max().copied())?;
    let number = times.iter().filter(|&&time| time <= time_ns).count().max(1);
    let of = times.len().max(number);
    let asked = Asked::Mark { name: name.to_owned(), time_ns, number, of, with_book: books.len() };
    Some((asked, time_ns, latest))
}

/// What can be asked of a timeline, in words.
fn what_exists(timeline: &Timeline) -> String {
    let coarse = CoarseBooks::new(timeline).is_some();
    let mut words = String::from("there is ");
    match (&timeline.book, coarse) {
        (None, false) => words.push_str("no book of the peak"),
        _ => words.push_str("'peak'"),
    }
    if coarse {
        words.push_str(&format!(", any time up to {}", time(timeline.duration_ns)));
    }
    let with_book = timeline.mark_books.iter().map(|book| book.name.as_str());
    let without = timeline.marks.iter().filter(|_| coarse).map(|mark| mark.name.as_str());
    let mut names: Vec<&str> = Vec::new();
    for name in with_book.chain(without) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(MOST_NAMES);
    let quoted: Vec<String> = names.iter().take(MOST_NAMES).map(|name| format!("'{name}'")).collect();
    match (quoted.is_empty(), more) {
        (true, _) => words.push_str(", and no mark with a book"),
        (false, 0) => words.push_str(&format!(", and the marks {}", quoted.join(", "))),
        (false, more) => words.push_str(&format!(", and the marks {} and {more} more", quoted.join(", "))),
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::{fine_book, tiny, with_coarse_columns};
    use alloc_timeline::Mark;

    /// Two marks `a`, of which the first has a book, and one mark `b` without.
    fn marked(mut timeline: Timeline) -> Timeline {
        let mark = |name: &str, time_ns| Mark { time_ns, name: name.into(), live_bytes: 0, snapshot: None };
        timeline.marks = vec![mark("a", 1_000_000), mark("a", 2_000_000), mark("b", 3_400_000)];
        let book = Book { time_ns: 1_100_000, ..fine_book() };
        timeline.mark_books = vec![MarkBook { name: "a".into(), time_ns: 1_000_000, book }];
        timeline
    }

    fn message(timeline: &Timeline, at: &str) -> String {
        book_at(timeline, at).unwrap_err().to_string()
    }

    #[test]
    fn the_peak_has_the_fine_book_or_else_the_nearest_coarse_one() {
        let mut timeline = with_coarse_columns(tiny());
        let chosen = book_at(&timeline, "peak").unwrap().unwrap();
        assert_eq!((chosen.at, chosen.coarse, chosen.book.rss_bytes), (Asked::Peak, false, 20_096));
        timeline.book = None;
        let chosen = book_at(&timeline, "peak").unwrap().unwrap();
        // The peak is at 4 ms, between the samples at 3.5 and 4.5 ms.
        assert_eq!((chosen.coarse, chosen.book.time_ns), (true, 3_500_000));
        timeline.series.probes.clear();
        assert!(book_at(&timeline, "peak").unwrap().is_none());
    }

    #[test]
    fn a_mark_has_its_own_book_or_else_the_nearest_coarse_one() {
        let timeline = marked(with_coarse_columns(tiny()));
        let chosen = book_at(&timeline, "a").unwrap().unwrap();
        let asked = Asked::Mark { name: "a".into(), time_ns: 1_000_000, number: 1, of: 2, with_book: 1 };
        assert_eq!((chosen.at, chosen.coarse, chosen.book.time_ns), (asked, false, 1_100_000));
        let chosen = book_at(&timeline, "b").unwrap().unwrap();
        let asked = Asked::Mark { name: "b".into(), time_ns: 3_400_000, number: 1, of: 1, with_book: 0 };
        assert_eq!((chosen.at, chosen.coarse, chosen.book.time_ns), (asked, true, 3_500_000));
    }

    #[test]
    fn of_several_books_of_a_name_the_latest_counts() {
        let mut timeline = marked(tiny());
        let book = Book { time_ns: 2_100_000, ..fine_book() };
        timeline.mark_books.push(MarkBook { name: "a".into(), time_ns: 2_000_000, book });
        let chosen = book_at(&timeline, "a").unwrap().unwrap();
        let asked = Asked::Mark { name: "a".into(), time_ns: 2_000_000, number: 2, of: 2, with_book: 2 };
        assert_eq!((chosen.at, chosen.book.time_ns), (asked, 2_100_000));
    }

    #[test]
    fn a_time_has_the_coarse_book_of_the_nearest_sample() {
        let timeline = with_coarse_columns(tiny());
        let chosen = book_at(&timeline, "3.7ms").unwrap().unwrap();
        assert_eq!((chosen.at, chosen.coarse, chosen.book.time_ns), (Asked::Time(3_700_000), true, 3_500_000));
    }

    #[test]
    fn a_mark_that_is_called_like_a_time_is_a_mark() {
        let mut timeline = marked(with_coarse_columns(tiny()));
        timeline.marks[2].name = "1ms".into();
        let chosen = book_at(&timeline, "1ms").unwrap().unwrap();
        assert!(matches!(chosen.at, Asked::Mark { .. }), "{:?}", chosen.at);
    }

    #[test]
    fn errors_name_what_exists() {
        let newer = marked(with_coarse_columns(tiny()));
        let exists = "there is 'peak', any time up to 6.0 ms, and the marks 'a', 'b'";
        let unknown = "no mark is called 'x', and it is no time such as 1.5s or 300ms";
        assert_eq!(message(&newer, "x"), format!("{unknown}; {exists}"));
        assert_eq!(
            message(&newer, "1s"),
            format!("1.00 s is after the end of the session, which took 6.0 ms; {exists}")
        );
        let older = marked(tiny());
        let none = "the samples of this timeline have no coarse books";
        assert_eq!(
            message(&older, "3ms"),
            format!("{none}, so there is none of '3ms'; there is 'peak', and the marks 'a'")
        );
        let mut bare = tiny();
        bare.book = None;
        assert!(message(&bare, "3ms").ends_with("there is no book of the peak, and no mark with a book"));
    }
}
