//! The account of the resident set in words.
use alloc_timeline::{Book, Snapshot};

use crate::model::{exact, exact_change, time};

/// When the account was taken, and how far from the peak that was. The sentence has no full stop.
pub(in crate::view) fn account_sentence(book: &Book, peak: &Snapshot) -> String {
    format!(
        "Taken at {}, {} from the peak, with {} bytes live ({} against the peak)",
        time(book.time_ns),
        time(book.time_ns.abs_diff(peak.time_ns)),
        exact(book.live_bytes),
        exact_change(i128::from(book.live_bytes) - i128::from(peak.live_bytes))
    )
}
