//! `viewer reconcile`: the account of the resident set, why it is larger than the live bytes, how it goes on to the control
//! group's limit, the account of each device, and the figures from outside the tracker.
use alloc_timeline::Book;

use crate::analysis::{ChosenBook, PEAK, book_at, devices, no_device};
use crate::model::{Run, exact, share, shortened, size};
use crate::view::text::device::{device_accounts, totals_and_steps};
use crate::view::text::sourced_table::SourcedTable;
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::wrapped;
use crate::view::words::account::{account_sentence, folded_parts, no_book, signed_exact, signed_share, signed_size};
use crate::view::words::{child_process_sentences, rss_explained, shared_memory_sentences};

/// Characters of a name, in a terminal that has room for them.
const NAME_WIDTH: usize = 48;

/// The account of the peak and the figures, as `viewer summary` shows them.
pub(super) fn peak_account_text(run: &Run, terminal: Terminal) -> String {
    let book = book_at(&run.timeline, PEAK).ok().flatten();
    reconcile_text(run, book.as_ref(), terminal)
}

/// The account as a table whose lines sum to the resident set, and the figures. What is missing is named as missing.
pub fn reconcile_text(run: &Run, chosen: Option<&ChosenBook<'_>>, terminal: Terminal) -> String {
    let width = terminal.width;
    let mut out = String::from("Account of the resident set\n");
    match chosen {
        None => out.push_str(&format!("  {}\n", no_book(&run.timeline))),
        Some(chosen) => {
            let book = &*chosen.book;
            out.push_str(&lines(book).text(width));
            out.push_str(&wrapped(&account_sentence(chosen, &run.timeline.peak), "", "", width));
            if let Some(explained) = rss_explained(book, &run.timeline) {
                out.push_str(&format!("\n{}\n", explained.heading()));
                explained.sentences.iter().for_each(|sentence| out.push_str(&wrapped(sentence, "  ", "    ", width)));
            }
            if !book.beyond.is_empty() {
                out.push_str("\nFrom the resident set to the limit\n");
                out.push_str(&totals_and_steps(&book.beyond).text(width));
            }
        }
    }
    let parts = [
        ("Child processes", child_process_sentences(&run.timeline)),
        ("Tensors in shared memory", shared_memory_sentences(run)),
    ];
    for (heading, sentences) in parts.iter().filter(|(_, sentences)| !sentences.is_empty()) {
        out.push_str(&format!("\n{heading}\n"));
        sentences.iter().for_each(|sentence| out.push_str(&wrapped(sentence, "  ", "    ", width)));
    }
    out.push_str(&device_accounts(&devices(run), no_device(run).as_deref(), width));
    out.push_str("\nFigures from outside the tracker\n");
    if run.timeline.lanes.is_empty() {
        out.push_str("  none recorded\n");
        return out;
    }
    let mut table = SourcedTable::new(&["lane", ">highest", ">at the peak"]);
    for lane in &run.timeline.lanes {
        let known = |bytes: Option<u64>| bytes.map_or("unavailable".to_owned(), size);
        table.row([lane.name.clone(), known(lane.peak_bytes), known(lane.at_peak_bytes)], &lane.source);
    }
    out.push_str(&table.text(width));
    out
}

/// The lines of a book with their parts, and the resident set.
fn lines(book: &Book) -> SourcedTable {
    let mut table = SourcedTable::new(&["", ">bytes", ">", ">of RSS"]);
    let cells =
        |name: String, bytes: i64| [name, signed_exact(bytes), signed_size(bytes), signed_share(bytes, book.rss_bytes)];
    for line in &book.lines {
        table.row(cells(shortened(&line.name, NAME_WIDTH), line.bytes), &line.source);
        for (name, bytes) in folded_parts(line) {
            table.row(cells(format!("  {}", shortened(&name, NAME_WIDTH - 2)), bytes), "");
        }
    }
    let rss = [exact(book.rss_bytes), size(book.rss_bytes), share(book.rss_bytes, book.rss_bytes)];
    table.row(["= RSS".to_owned()].into_iter().chain(rss), "");
    table
}
