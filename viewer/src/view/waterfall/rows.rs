//! A book as rows of a waterfall: each line begins where the one before ends.
use alloc_timeline::{BeyondLine, Book};

use crate::model::{MemoryKind, kind_of, size};
use crate::view::words::account::{folded_parts, signed_exact, unavailable};

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) name: String,
    /// The bytes of the row; `None` where they could not be read.
    pub(super) bytes: Option<i64>,
    /// Where its bar begins and ends; `None` where that is not known.
    pub(super) bar: Option<(i128, i128)>,
    pub(super) look: Look,
    /// What is told under the mouse.
    pub(super) tip: String,
}

/// What a row looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// A line of the book, in the colour of its kind of memory.
    Line(MemoryKind),
    /// A step of the account beyond the resident set.
    Step,
    /// A sum, from zero.
    Total,
}

/// The lines of a book, and the resident set as their sum.
pub(super) fn book_rows(book: &Book) -> Vec<Row> {
    let mut sum = 0i128;
    let mut rows = Vec::new();
    for line in &book.lines {
        let next = sum + i128::from(line.bytes);
        let mut tip = format!("{}: {} bytes", line.name, signed_exact(line.bytes));
        if !line.source.is_empty() {
            tip.push_str(&format!("\n{}", line.source));
        }
        for (name, bytes) in folded_parts(line) {
            tip.push_str(&format!("\n{name}: {}", size(bytes.unsigned_abs())));
        }
        rows.push(Row {
            name: line.name.clone(),
            bytes: Some(line.bytes),
            bar: Some((sum, next)),
            look: Look::Line(kind_of(&line.name)),
            tip,
        });
        sum = next;
    }
    let bytes = i64::try_from(book.rss_bytes).ok();
    rows.push(Row {
        name: "RSS".to_owned(),
        bytes,
        bar: bytes.map(|bytes| (0, i128::from(bytes))),
        look: Look::Total,
        tip: "resident set: the sum of the lines".to_owned(),
    });
    rows
}

/// The account beyond the resident set. After a number that could not be read, steps have no bar up to the next total:
/// nobody knows where they begin.
pub(super) fn beyond_rows(lines: &[BeyondLine]) -> Vec<Row> {
    let mut reached: Option<i128> = None;
    let mut rows = Vec::new();
    for line in lines {
        let bytes = line.bytes.map(i128::from);
        let (bar, look) = if line.total {
            reached = bytes;
            (bytes.map(|bytes| (0, bytes)), Look::Total)
        } else {
            let from = reached;
            reached = from.zip(bytes).map(|(from, bytes)| from + bytes);
            (from.zip(reached), Look::Step)
        };
        let tip = match line.bytes {
            Some(bytes) => format!("{}: {} bytes\n{}", line.name, signed_exact(bytes), line.source),
            None => format!("{}: {}", line.name, unavailable(&line.source)),
        };
        rows.push(Row { name: line.name.clone(), bytes: line.bytes, bar, look, tip });
    }
    rows
}

/// From where to where the bars of these rows reach, zero included.
pub(super) fn extent(rows: &[Row]) -> (i128, i128) {
    let ends = rows.iter().filter_map(|row| row.bar).flat_map(|(from, to)| [from, to]);
    ends.fold((0, 1), |(low, high), end| (low.min(end), high.max(end)))
}

/// The span that is worth a scale of its own: where all bars but sums and the longest one lie. `None` where that is no
/// less than two thirds of the whole, so that a second scale would show nothing better.
pub(super) fn enlarged(rows: &[Row]) -> Option<(i128, i128)> {
    let bars: Vec<(i128, i128)> = rows.iter().filter(|row| row.look != Look::Total).filter_map(|row| row.bar).collect();
    let length = |bar: &(i128, i128)| (bar.1 - bar.0).abs();
    let longest = (0..bars.len()).max_by_key(|&index| length(&bars[index]))?;
    let others = bars.iter().enumerate().filter(|(index, bar)| *index != longest && length(bar) > 0);
    let ends: Vec<i128> = others.flat_map(|(_, bar)| [bar.0, bar.1]).collect();
    let (low, high) = (*ends.iter().min()?, *ends.iter().max()?);
    let (from, to) = extent(rows);
    let room = ((high - low) / 24).max(1);
    let span = ((low - room).max(from), (high + room).min(to));
    (3 * (span.1 - span.0) < 2 * (to - from)).then_some(span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::fine_book;

    fn bars(rows: &[Row]) -> Vec<Option<(i128, i128)>> {
        rows.iter().map(|row| row.bar).collect()
    }

    #[test]
    fn each_line_begins_where_the_one_before_ends_and_the_last_ends_at_the_resident_set() {
        let rows = book_rows(&fine_book());
        let bars = bars(&rows);
        assert_eq!(bars[0], Some((0, 13_080)));
        assert_eq!(bars[6], Some((18_048, 17_648)), "claimed but never touched leads back");
        assert_eq!(bars[bars.len() - 2], Some((20_148, 20_096)), "unexplained is negative here");
        assert_eq!(bars[bars.len() - 1], Some((0, 20_096)));
        assert!(rows[8].tip.contains("[stack]: 120 B\nworker 12: 50 B"), "{}", rows[8].tip);
    }

    #[test]
    fn after_an_unknown_number_nothing_has_a_place_until_the_next_total() {
        let bars = bars(&beyond_rows(&fine_book().beyond));
        let expected = [
            Some((0, 20_096)),
            Some((20_096, 19_000)),
            Some((0, 19_000)),
            None,
            Some((0, 25_000)),
            Some((25_000, 100_000)),
        ];
        assert_eq!(bars[..6], expected);
    }

    #[test]
    fn the_second_scale_leaves_out_the_longest_bar() {
        let rows = book_rows(&fine_book());
        // From the end of the requested bytes, less a little room, to the highest sum; above that there is nothing.
        assert_eq!(enlarged(&rows), Some((13_080 - 294, 20_148)));
        assert_eq!(extent(&rows), (0, 20_148));
        let mut even = fine_book();
        even.lines.drain(..1);
        even.rss_bytes -= 13_080;
        assert_eq!(enlarged(&book_rows(&even)), None);
    }
}
