//! The account of the resident set as a picture: a waterfall of bars from the requested bytes up to the resident set, and
//! below it the account that goes on to the control group's limit.
//!
//! ```text
//!  title
//!                              whole scale            the same, enlarged
//!  requested   860 MiB  77 %  |==========|           |<
//!  dirty pages 150 MiB  13 %  |          ==|         | =========|
//!  claimed      -6 MiB  -1 %  |           =|         |        ==|
//!  ...
//!  RSS       1,118 MiB        |==============|       |<==============|
//! ```
//!
//! One line, the live bytes, is often much larger than all others. So there is a second scale for the span in which the
//! others lie.
mod rows;

mod panel;

use crate::analysis::ChosenBook;
use crate::model::{Run, size};
use crate::view::ink::{DIM, INK, STYLE};
use crate::view::svg::Svg;
use crate::view::waterfall::panel::{ROW, block};
use crate::view::waterfall::rows::{Row, beyond_rows, book_rows};
use crate::view::words::account::{account_sentence, asked_words};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 24.0;
/// Height of the title.
const TITLE: f64 = 78.0;
/// Height of a block beside its rows: its heading, and its axis.
const BLOCK: f64 = 76.0;

/// The waterfall of one book.
pub fn waterfall_svg(run: &Run, chosen: &ChosenBook<'_>) -> String {
    let book = &*chosen.book;
    let blocks: Vec<(String, Vec<Row>)> = [
        (format!("Resident set {}: {}", asked_words(&chosen.at), size(book.rss_bytes)), book_rows(book)),
        ("From the resident set to the limit".to_owned(), beyond_rows(&book.beyond)),
    ]
    .into_iter()
    .filter(|(_, rows)| !rows.is_empty())
    .collect();
    let height = |rows: &[Row]| BLOCK + rows.len() as f64 * ROW;
    let whole = TITLE + blocks.iter().map(|(_, rows)| height(rows)).sum::<f64>() + MARGIN;
    let mut svg = Svg::new(WIDTH, whole, &format!("Account of the resident set: {}", run.title()), STYLE);
    svg.element("rect", format_args!("class=\"tl-bg\" width=\"{WIDTH}\" height=\"{whole}\" fill=\"#fff\""));
    svg.text(MARGIN, 30.0, format_args!("{INK} font-size=\"20\" font-weight=\"bold\""), &run.title());
    let sentence = account_sentence(chosen, &run.timeline.peak);
    svg.text(MARGIN, 52.0, format_args!("{DIM} font-size=\"13\""), &sentence);
    let mut top = TITLE;
    for (heading, rows) in &blocks {
        block(&mut svg, top, heading, rows);
        top += height(rows);
    }
    svg.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{PEAK, book_at};
    use crate::model::fixture::{fine_book, tiny};
    use alloc_timeline::{Book, BookLine, Timeline};

    fn drawn(book: Book) -> String {
        let run = Run::new("x", Timeline { book: Some(book), ..tiny() });
        waterfall_svg(&run, &book_at(&run.timeline, PEAK).unwrap().unwrap())
    }

    #[test]
    fn the_picture_is_the_same_every_time_and_has_every_line() {
        let svg = drawn(fine_book());
        assert_eq!(svg, drawn(fine_book()));
        for line in &fine_book().lines {
            assert!(svg.contains(&format!(">{}</text>", line.name)), "{}", line.name);
        }
        assert!(svg.contains("unavailable: memory.stat cannot be read") && svg.contains(">memory.max</text>"));
    }

    #[test]
    fn an_empty_and_an_absurd_book_are_pictures_too() {
        let line = |bytes| BookLine { name: "x".into(), bytes, ..BookLine::default() };
        for lines in [vec![], vec![line(0)], vec![line(i64::MAX), line(i64::MAX)], vec![line(i64::MIN)]] {
            for rss_bytes in [0, u64::MAX] {
                let svg = drawn(Book { lines: lines.clone(), rss_bytes, ..Book::default() });
                assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }
}
