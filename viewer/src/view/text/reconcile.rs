//! `viewer reconcile`: the account of the resident set, and the figures from outside the tracker.
use crate::model::{Run, exact, share, size};
use crate::view::text::table::{render, table};
use crate::view::words::account::account_sentence;

/// The account as a table whose lines sum to the resident set, and the figures. What is missing is named as missing.
pub fn reconcile_text(run: &Run) -> String {
    let mut out = String::from("Account of the resident set\n");
    match &run.timeline.book {
        None => out.push_str("  unavailable: /proc could not be read during this run\n"),
        Some(book) => {
            let mut table = table(&["", ">bytes", ">", ">of RSS"]);
            for line in &book.lines {
                let bytes = line.bytes.unsigned_abs();
                let sign = if line.bytes < 0 { "-" } else { "" };
                table.add_row([
                    line.name.clone(),
                    format!("{sign}{}", exact(bytes)),
                    format!("{sign}{}", size(bytes)),
                    format!("{sign}{}", share(bytes, book.rss_bytes)),
                ]);
            }
            let rss = [exact(book.rss_bytes), size(book.rss_bytes), share(book.rss_bytes, book.rss_bytes)];
            table.add_row(["= RSS".to_owned()].into_iter().chain(rss));
            out.push_str(&render(&table));
            out.push_str(&format!("{}\n", account_sentence(book, &run.timeline.peak)));
        }
    }
    out.push_str("\nFigures from outside the tracker\n");
    if run.timeline.lanes.is_empty() {
        out.push_str("  none recorded\n");
        return out;
    }
    let mut table = table(&["lane", ">highest", ">at the peak", "source"]);
    for lane in &run.timeline.lanes {
        let known = |bytes: Option<u64>| bytes.map_or("unavailable".to_owned(), size);
        table.add_row([lane.name.clone(), known(lane.peak_bytes), known(lane.at_peak_bytes), lane.source.clone()]);
    }
    out.push_str(&render(&table));
    out
}
