//! The account of the resident set as a picture: a waterfall of bars from the requested bytes up to the resident set, and
//! below it the account that goes on to the control group's limit, and the account of each device.
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

use crate::analysis::{ChosenBook, devices};
use crate::model::{Run, size};
use crate::view::ink::STYLE;
use crate::view::svg::Svg;
use crate::view::waterfall::panel::{ROW, block};
use crate::view::waterfall::rows::{Row, beyond_rows, book_rows};
use crate::view::words::account::{account_sentence, asked_words};
use crate::view::words::device::account_heading;

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 24.0;
/// Height of the title.
const TITLE: f64 = 78.0;
/// Height of a block beside its rows: its heading, and its axis.
const BLOCK: f64 = 76.0;

/// The waterfall of one book, and below it that of each device whose memory was measured.
pub fn waterfall_svg(run: &Run, chosen: &ChosenBook<'_>) -> String {
    let blocks = book_blocks(chosen).into_iter().chain(device_blocks(run)).collect();
    picture(run, &account_sentence(chosen, &run.timeline.peak), blocks)
}

/// The waterfall of one book alone.
pub(super) fn book_svg(run: &Run, chosen: &ChosenBook<'_>) -> String {
    picture(run, &account_sentence(chosen, &run.timeline.peak), book_blocks(chosen))
}

/// The waterfall of the devices alone; `None` where the memory of none was measured.
pub(super) fn devices_svg(run: &Run) -> Option<String> {
    let blocks = device_blocks(run);
    (!blocks.is_empty()).then(|| picture(run, "Memory of devices", blocks))
}

/// A heading and the rows below it.
type Block = (String, Vec<Row>);

fn book_blocks(chosen: &ChosenBook<'_>) -> Vec<Block> {
    let book = &*chosen.book;
    let blocks = vec![
        (format!("Resident set {}: {}", asked_words(&chosen.at), size(book.rss_bytes)), book_rows(book)),
        ("From the resident set to the limit".to_owned(), beyond_rows(&book.beyond)),
    ];
    blocks.into_iter().filter(|(_, rows)| !rows.is_empty()).collect()
}

fn device_blocks(run: &Run) -> Vec<Block> {
    let blocks = devices(run).into_iter().map(|device| (account_heading(&device), beyond_rows(&device.book)));
    blocks.filter(|(_, rows)| !rows.is_empty()).collect()
}

/// Blocks below each other, under what ran and a sentence.
fn picture(run: &Run, sentence: &str, blocks: Vec<Block>) -> String {
    let height = |rows: &[Row]| BLOCK + rows.len() as f64 * ROW;
    let whole = TITLE + blocks.iter().map(|(_, rows)| height(rows)).sum::<f64>() + MARGIN;
    let mut svg = Svg::new(WIDTH, whole, &format!("Account of the resident set: {}", run.title()), STYLE);
    svg.element("rect", format_args!("class=\"tl-bg\" width=\"{WIDTH}\" height=\"{whole}\" fill=\"#fff\""));
    svg.heading(MARGIN, &run.title(), sentence);
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
    use crate::model::fixture::{fine_book, tiny, with_device};
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

    #[test]
    fn the_account_of_a_device_follows_that_of_the_process() {
        let run = Run::new("x", Timeline { book: Some(fine_book()), ..with_device(tiny()) });
        let svg = waterfall_svg(&run, &book_at(&run.timeline, PEAK).unwrap().unwrap());
        let at = |text: &str| svg.find(text).unwrap_or_else(|| panic!("{text} in {svg}"));
        assert!(at(">memory.max</text>") < at(">Account of cuda:0, a GPU, at 3.1 ms</text>"));
        assert!(at(">NVML process</text>") < at(">device used</text>"));
        assert!(svg.contains("unavailable: not told") && !svg.contains("Account of cuda:1"), "{svg}");
        assert_eq!(devices_svg(&Run::new("x", tiny())), None);
    }
}
