//! The section about the account of the resident set: of the peak, and of the marks that asked for one.
use alloc_timeline::{BeyondLine, Book};
use maud::{Markup, PreEscaped, html};

use crate::analysis::{ChosenBook, PEAK, book_at};
use crate::model::{Run, exact, share, size, time};
use crate::view::waterfall::book_svg;
use crate::view::words::account::{
    account_sentence, folded_parts, no_book, signed_exact, signed_share, signed_size, unavailable,
};
use crate::view::words::rss_explained;

/// The section.
pub(super) fn section(run: &Run) -> Markup {
    let timeline = &run.timeline;
    let Some(chosen) = book_at(timeline, PEAK).ok().flatten() else {
        return html! { p { "The account of the resident set is " (no_book(&run.timeline)) "." } };
    };
    // The latest book of each mark, in the order of the marks.
    let mut names: Vec<&str> = Vec::new();
    for book in &timeline.mark_books {
        if !names.contains(&book.name.as_str()) {
            names.push(&book.name);
        }
    }
    let marks = names.iter().filter_map(|name| Some((*name, book_at(timeline, name).ok().flatten()?)));
    html! {
        (book(run, &chosen))
        @for (name, chosen) in marks {
            details {
                summary { "at the mark \u{201c}" (name) "\u{201d}: RSS " (size(chosen.book.rss_bytes)) " at " (time(chosen.book.time_ns)) }
                (book(run, &chosen))
            }
        }
    }
}

/// One book: picture, table, and the paragraph that says why it is larger than the live bytes.
fn book(run: &Run, chosen: &ChosenBook<'_>) -> Markup {
    let book = &*chosen.book;
    html! {
        figure.waterfall { (PreEscaped(book_svg(run, chosen))) }
        (lines(book))
        p.dim { (account_sentence(chosen, &run.timeline.peak)) "." }
        @if let Some(explained) = rss_explained(book, &run.timeline) {
            h4 { (explained.heading()) }
            p { @for sentence in &explained.sentences { (sentence) " " } }
        }
        @if !book.beyond.is_empty() { (totals_and_steps("From the resident set to the limit", &book.beyond)) }
    }
}

/// The lines with their parts, and the resident set.
fn lines(book: &Book) -> Markup {
    let numbers = |bytes: i64| {
        html! { td { (signed_exact(bytes)) } td { (signed_size(bytes)) } td { (signed_share(bytes, book.rss_bytes)) } }
    };
    html! {
        table.numbers {
            caption { "Account of the resident set" }
            thead { tr { th scope="col" {} th scope="col" { "bytes" } th scope="col" {} th scope="col" { "of RSS" } th.text scope="col" { "source" } } }
            tbody {
                @for line in &book.lines {
                    tr { th scope="row" { (line.name) } (numbers(line.bytes)) td.text { (line.source) } }
                    @for (name, bytes) in folded_parts(line) {
                        tr.part { th scope="row" { (name) } (numbers(bytes)) td.text {} }
                    }
                }
            }
            tfoot {
                tr {
                    @let rss = book.rss_bytes;
                    th scope="row" { "= resident set" } td { (exact(rss)) } td { (size(rss)) } td { (share(rss, rss)) } td.text {}
                }
            }
        }
    }
}

/// An account in totals and steps; totals are set apart.
pub(super) fn totals_and_steps(caption: &str, lines: &[BeyondLine]) -> Markup {
    html! {
        table.numbers {
            caption { (caption) }
            thead { tr { th scope="col" {} th scope="col" { "bytes" } th scope="col" {} th.text scope="col" { "source" } } }
            tbody {
                @for line in lines {
                    tr.total[line.total].part[!line.total] {
                        th scope="row" { (line.name) }
                        @match line.bytes {
                            Some(bytes) => { td { (signed_exact(bytes)) } td { (signed_size(bytes)) } td.text { (line.source) } }
                            None => { td { "-" } td { "-" } td.text { (unavailable(&line.source)) } }
                        }
                    }
                }
            }
        }
    }
}
