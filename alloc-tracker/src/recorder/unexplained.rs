//! How much of a resident set its book leaves unexplained.
use alloc_timeline::Book;

/// A book leaves much unexplained when it is more than 1 part in this of the resident set ...
const STEP: u64 = 200;
/// ... and more than so many bytes.
const BYTES: u64 = 1 << 20;

/// The bytes of a book's last line, which no other line explains, without their sign.
pub fn unexplained(book: &Book) -> u64 {
    book.lines.last().map_or(0, |line| line.bytes.unsigned_abs())
}

/// Whether they are so many that what the book is made of may be too old.
pub fn leaves_much(book: &Book) -> bool {
    unexplained(book) > BYTES.max(book.rss_bytes / STEP)
}

#[cfg(test)]
mod tests {
    use alloc_timeline::BookLine;

    use super::*;

    /// A two-hundredth of 400 MiB is 2 MiB, of 100 MiB it is half a MiB.
    #[test]
    fn much_is_a_part_of_the_resident_set_and_a_number_of_bytes() {
        let left = |rss_bytes: u64, bytes: i64| {
            let line = BookLine { name: "unexplained".to_owned(), bytes, ..BookLine::default() };
            let book = Book { rss_bytes, lines: vec![line], ..Book::default() };
            leaves_much(&book)
        };
        assert_eq!([2 << 20, (2 << 20) + 1].map(|bytes| left(400 << 20, bytes)), [false, true]);
        assert_eq!([1 << 20, (1 << 20) + 1].map(|bytes| left(100 << 20, bytes)), [false, true]);
        assert_eq!([-(3 << 20), -1].map(|bytes| left(400 << 20, bytes)), [true, false]);
        assert!(!leaves_much(&Book::default()));
    }
}
