//! The account of the resident set in words: its numbers with their signs, its parts, and which instant it is of.
use alloc_timeline::{BookLine, BookPart, Ending, Snapshot, Timeline};

use crate::analysis::{Asked, ChosenBook};
use crate::model::{exact, exact_change, share, size, time};

/// The text in place of a book that is not there.
pub(in crate::view) fn no_book(timeline: &Timeline) -> &'static str {
    match timeline.ending {
        Ending::Recovered => "not known: none was written down before the process died",
        _ => "unavailable: /proc could not be read during this run",
    }
}

/// The most parts of a line that are shown one by one.
const MOST_PARTS: usize = 4;

/// Which instant a book is of, how coarse it is, and how far it is from what was asked for. The text has no full stop at its
/// end.
pub(in crate::view) fn account_sentence(chosen: &ChosenBook<'_>, peak: &Snapshot) -> String {
    let book = &*chosen.book;
    let live = format!("with {} bytes live", exact(book.live_bytes));
    let taken = format!("Taken at {}", time(book.time_ns));
    let coarse = if chosen.coarse { "The coarse book of the nearest sample. " } else { "" };
    match &chosen.at {
        Asked::Peak => {
            let away = time(book.time_ns.abs_diff(peak.time_ns));
            let change = exact_change(i128::from(book.live_bytes) - i128::from(peak.live_bytes));
            format!("{coarse}{taken}, {away} from the peak, {live} ({change} against the peak)")
        }
        Asked::Mark { name, time_ns, number, of, with_book } => {
            let which = match (of, with_book) {
                (1, 1..) => format!("The mark '{name}'"),
                (1, 0) => format!("The mark '{name}' has no book of its own"),
                (_, 0) => format!("None of the {of} marks '{name}' has a book of its own; this is the last"),
                (_, 1) => format!("Mark {number} of {of} called '{name}', the only one with a book of its own"),
                (_, books) => {
                    format!("Mark {number} of {of} called '{name}', the last of the {books} with a book here")
                }
            };
            let away = time(book.time_ns.abs_diff(*time_ns));
            format!("{which}, at {}. {coarse}{taken}, {away} from the mark, {live}", time(*time_ns))
        }
        Asked::Time(time_ns) => {
            let away = time(book.time_ns.abs_diff(*time_ns));
            format!("{coarse}{taken}, {away} from {}, {live}", time(*time_ns))
        }
    }
}

/// What a book is of, for a heading: `at the peak`.
pub(in crate::view) fn asked_words(at: &Asked) -> String {
    match at {
        Asked::Peak => "at the peak".to_owned(),
        Asked::Mark { name, .. } => format!("at the mark '{name}'"),
        Asked::Time(time_ns) => format!("at {}", time(*time_ns)),
    }
}

/// The parts of a line, the biggest first; those beyond the first few are summed up. A file goes by its name without its
/// folders, unless another part has that name.
pub(in crate::view) fn folded_parts(line: &BookLine) -> Vec<(String, i64)> {
    let file_name = |part: &BookPart| match part.name.rsplit_once('/') {
        Some((_, name)) if part.name.starts_with('/') => name.to_owned(),
        _ => part.name.clone(),
    };
    let is_taken = |name: &str| line.parts.iter().filter(|part| file_name(part) == name).count() > 1;
    let name = |part: &BookPart| Some(file_name(part)).filter(|name| !is_taken(name)).unwrap_or(part.name.clone());
    let mut parts: Vec<(String, i64)> = line.parts.iter().map(|part| (name(part), part.bytes)).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.1.unsigned_abs()));
    // A single part more is shown as itself: a row that sums it up would be no shorter.
    if parts.len() > MOST_PARTS + 1 {
        let rest = parts.split_off(MOST_PARTS);
        let sum = rest.iter().map(|part| part.1).fold(0, i64::saturating_add);
        parts.push((format!("{} more", rest.len()), sum));
    }
    parts
}

/// Why a number could not be read, as `unavailable: reason`.
pub(in crate::view) fn unavailable(source: &str) -> String {
    format!("unavailable: {}", source.trim_start_matches("unavailable: "))
}

/// The bytes of a line with their sign, exact.
pub(in crate::view) fn signed_exact(bytes: i64) -> String {
    format!("{}{}", minus(bytes), exact(bytes.unsigned_abs()))
}

/// The bytes of a line with their sign, rounded.
pub(in crate::view) fn signed_size(bytes: i64) -> String {
    format!("{}{}", minus(bytes), size(bytes.unsigned_abs()))
}

/// The share of a line in `whole`, with its sign.
pub(in crate::view) fn signed_share(bytes: i64, whole: u64) -> String {
    let share = share(bytes.unsigned_abs(), whole);
    // A share that is too small to be told is too small for a sign.
    if share.starts_with('<') { share } else { format!("{}{share}", minus(bytes)) }
}

fn minus(bytes: i64) -> &'static str {
    if bytes < 0 { "-" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    use crate::model::fixture::fine_book;
    use alloc_timeline::Book;

    fn sentence(at: Asked, coarse: bool) -> String {
        let book = Book { time_ns: 7_000_000, ..fine_book() };
        account_sentence(&ChosenBook { at, book: Cow::Owned(book), coarse }, &Snapshot::default())
    }

    fn mark(number: usize, of: usize, with_book: usize) -> Asked {
        Asked::Mark { name: "end".into(), time_ns: 6_000_000, number, of, with_book }
    }

    #[test]
    fn a_mark_says_which_of_its_name_it_is() {
        let taken = "Taken at 7.0 ms, 1.0 ms from the mark, with 13,952 bytes live";
        let coarse = "The coarse book of the nearest sample. ";
        let cases = [
            (mark(1, 1, 1), false, format!("The mark 'end', at 6.0 ms. {taken}")),
            (
                mark(5, 5, 3),
                false,
                format!("Mark 5 of 5 called 'end', the last of the 3 with a book here, at 6.0 ms. {taken}"),
            ),
            (
                mark(2, 5, 1),
                false,
                format!("Mark 2 of 5 called 'end', the only one with a book of its own, at 6.0 ms. {taken}"),
            ),
            (mark(1, 1, 0), true, format!("The mark 'end' has no book of its own, at 6.0 ms. {coarse}{taken}")),
            (
                mark(5, 5, 0),
                true,
                format!(
                    "None of the 5 marks 'end' has a book of its own; this is the last, at 6.0 ms. {coarse}{taken}"
                ),
            ),
        ];
        for (at, is_coarse, expected) in cases {
            assert_eq!(sentence(at, is_coarse), expected);
        }
    }

    #[test]
    fn a_time_says_that_its_book_is_coarse_and_how_far_away() {
        let expected = "The coarse book of the nearest sample. Taken at 7.0 ms, 500.0 us from 6.5 ms, \
                        with 13,952 bytes live";
        assert_eq!(sentence(Asked::Time(6_500_000), true), expected);
    }

    #[test]
    fn parts_are_sorted_by_size_and_folded_to_a_few() {
        let part = |(name, bytes): (&str, i64)| BookPart { name: name.into(), bytes };
        let parts = [("a", 1), ("b", 50), ("c", -9), ("d", 30), ("e", 2)].map(part).into();
        let mut line = BookLine { parts, ..BookLine::default() };
        let names = |line: &BookLine| folded_parts(line).into_iter().map(|part| part.0).collect::<Vec<_>>().join(" ");
        assert_eq!(names(&line), "b d c e a");
        line.parts.push(part(("f", 4)));
        assert_eq!(folded_parts(&line).last(), Some(&("2 more".to_owned(), 3)));
        assert_eq!(folded_parts(&line).iter().map(|part| part.1).sum::<i64>(), 78);
    }

    #[test]
    fn files_go_by_their_names_where_these_differ() {
        let part = |name: &str, bytes| BookPart { name: name.into(), bytes };
        let parts = vec![part("/lib/libc.so.6", 3), part("/a/lib.so", 2), part("/b/lib.so", 1), part("worker (7)", 1)];
        let line = BookLine { parts, ..BookLine::default() };
        let names: Vec<String> = folded_parts(&line).into_iter().map(|part| part.0).collect();
        assert_eq!(names, ["libc.so.6", "/a/lib.so", "/b/lib.so", "worker (7)"]);
    }
}
