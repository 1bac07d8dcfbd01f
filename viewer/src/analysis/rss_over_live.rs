//! Why the resident set is larger than the live bytes: which lines of a book make the difference, and the one setting that
//! would change most.
use alloc_timeline::{Book, Timeline};
use serde::Serialize;

use crate::analysis::advice::{Advice, advice};
use crate::model::{MemoryKind, kind_of};

/// The difference between the resident set and the live bytes, line by line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RssOverLive {
    /// When the book was taken, since the session began.
    pub time_ns: u64,
    /// The bytes of the lines that are live.
    pub live_bytes: i64,
    /// The resident set.
    pub rss_bytes: u64,
    /// The resident set less the live bytes; negative where the resident set is the smaller one.
    pub difference_bytes: i64,
    /// The other lines, the biggest first. Their bytes sum to `difference_bytes`. Lines of 0 bytes are left out.
    pub causes: Vec<Cause>,
    /// The setting that would change most; absent where no setting would change much.
    pub advice: Option<Advice>,
}

/// A line of the book that is not live memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// Its name.
    pub name: String,
    /// Its bytes; negative where it takes bytes away.
    pub bytes: i64,
}

/// The difference in one book of a timeline. `None` when the book has no line that is live, and for numbers that no machine has.
pub fn rss_over_live(book: &Book, timeline: &Timeline) -> Option<RssOverLive> {
    let is_live = |name: &str| kind_of(name) == MemoryKind::Live;
    if !book.lines.iter().any(|line| is_live(&line.name)) {
        return None;
    }
    let live = book.lines.iter().filter(|line| is_live(&line.name)).map(|line| i128::from(line.bytes)).sum::<i128>();
    let others = book.lines.iter().filter(|line| !is_live(&line.name) && line.bytes != 0);
    let mut causes: Vec<Cause> = others.map(|line| Cause { name: line.name.clone(), bytes: line.bytes }).collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.bytes.unsigned_abs()));
    Some(RssOverLive {
        time_ns: book.time_ns,
        live_bytes: i64::try_from(live).ok()?,
        rss_bytes: book.rss_bytes,
        difference_bytes: i64::try_from(i128::from(book.rss_bytes) - live).ok()?,
        causes,
        advice: advice(book, timeline),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::{fine_book, tiny};

    #[test]
    fn the_other_lines_sum_to_the_difference() {
        let difference = rss_over_live(&fine_book(), &tiny()).unwrap();
        assert_eq!((difference.live_bytes, difference.difference_bytes), (13_952, 20_096 - 13_952));
        assert_eq!(difference.causes.iter().map(|cause| cause.bytes).sum::<i64>(), 20_096 - 13_952);
        let names: Vec<&str> = difference.causes.iter().map(|cause| cause.name.as_str()).collect();
        let by_size = ["dirty pages", "pages of files", "allocator's metadata", "claimed but never touched", "tracker"];
        assert_eq!(names[..5], by_size);
        assert!(!names.contains(&"muzzy pages"), "it has no bytes");
    }

    #[test]
    fn a_book_without_live_lines_has_no_difference() {
        let mut book = fine_book();
        book.lines.drain(..2);
        assert!(rss_over_live(&book, &tiny()).is_none());
    }
}
