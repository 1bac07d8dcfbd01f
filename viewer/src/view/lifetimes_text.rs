//! `viewer lifetimes` for people: sizes and lifetimes in powers of two.
use alloc_timeline::{Bucket, Sums};

use crate::analysis::{Lifetimes, lifetimes, median_ns};
use crate::model::{Run, exact, share, size, time};
use crate::view::owners_text::{NOT_RECORDED, covered};
use crate::view::table::{table, text};

/// Characters of the longest bar.
const BAR: usize = 32;

/// The histograms of all blocks, and a line for each category.
pub fn lifetimes_text(run: &Run) -> String {
    let mut out = format!("{}\n\n", run.title());
    let Some(analysis) = &run.timeline.analysis else { return out + NOT_RECORDED };
    let Lifetimes { sizes, lifetimes: lives, held, all } = lifetimes(analysis);
    let to_the_next = |from: u64| format!("{} to {}", size(from), size(from.saturating_mul(2).max(2)));
    out.push_str(&format!("Sizes of {} blocks, {}\n", exact(all.blocks), size(all.usable_bytes)));
    out.push_str(&histogram("size", &sizes, all, to_the_next));
    let freed: Sums = lives.iter().map(|bucket| bucket.sums).collect();
    out.push_str(&format!(
        "\nLifetimes of the {} that were freed, {}\n",
        exact(freed.blocks),
        size(freed.usable_bytes)
    ));
    out.push_str(&histogram("lived", &lives, freed, span));
    out.push_str(&format!("{} blocks, {}, are not freed yet\n", exact(held.blocks), size(held.usable_bytes)));
    let mut table = table(&["category", ">blocks", ">bytes", ">requested", ">held", ">half lived less than"]);
    for histogram in &analysis.histograms {
        let all: Sums = histogram.sizes.iter().map(|bucket| bucket.sums).collect();
        let median = median_ns(&histogram.lifetimes).map_or("-".to_owned(), |ns| time(upper(ns)));
        table.add_row([
            histogram.category.to_string(),
            exact(all.blocks),
            size(all.usable_bytes),
            size(all.requested_bytes),
            share(histogram.held.usable_bytes, all.usable_bytes),
            median,
        ]);
    }
    out.push_str(&format!("\nBy category\n{}{}\n", text(&table), covered(&analysis.coverage)));
    out
}

fn upper(from: u64) -> u64 {
    from.saturating_mul(2).max(2)
}

/// A bucket of nanoseconds in words.
pub(crate) fn span(from: u64) -> String {
    format!("{} to {}", time(from), time(upper(from)))
}

fn histogram(head: &str, buckets: &[Bucket], all: Sums, label: impl Fn(u64) -> String) -> String {
    if buckets.is_empty() {
        return "  none\n".to_owned();
    }
    let most = buckets.iter().map(|bucket| bucket.sums.usable_bytes).max().unwrap_or(0).max(1);
    let mut table = table(&[head, ">blocks", ">bytes", ">share", ""]);
    for bucket in buckets {
        let bytes = bucket.sums.usable_bytes;
        let length = (u128::from(bytes) * BAR as u128).div_ceil(u128::from(most)) as usize;
        table.add_row([
            label(bucket.from),
            exact(bucket.sums.blocks),
            size(bytes),
            share(bytes, all.usable_bytes),
            "\u{2588}".repeat(length),
        ]);
    }
    text(&table)
}
