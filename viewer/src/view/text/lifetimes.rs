//! `viewer lifetimes`: histograms of sizes and lifetimes in powers of two.
use alloc_timeline::{Bucket, Sums};

use crate::analysis::{Lifetimes, lifetimes, median_ns};
use crate::model::{Run, exact, share, size, time};
use crate::view::text::table::table;
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::fitted;
use crate::view::words::owners::{coverage_sentence, not_recorded};

/// Characters of the longest bar.
const BAR_WIDTH: usize = 32;
/// The longest bar has at least so many.
const SHORTEST_BAR: usize = 4;

/// The histograms of all blocks, and a line for each category.
pub fn lifetimes_text(run: &Run, terminal: Terminal) -> String {
    fitted(&text(run, terminal.width), terminal.width)
}

fn text(run: &Run, width: usize) -> String {
    let mut out = format!("{}\n\n", run.title());
    let Some(analysis) = &run.timeline.analysis else { return out + not_recorded(&run.timeline) };
    let Lifetimes { sizes, lifetimes: lives, held, all } = lifetimes(analysis);
    out.push_str(&format!("Sizes of {} blocks, {}\n", exact(all.blocks), size(all.usable_bytes)));
    out.push_str(&histogram("size", &sizes, all, size, width));
    let freed: Sums = lives.iter().map(|bucket| bucket.sums).collect();
    out.push_str(&format!(
        "\nLifetimes of the {} that were freed, {}\n",
        exact(freed.blocks),
        size(freed.usable_bytes)
    ));
    out.push_str(&histogram("lived", &lives, freed, time, width));
    out.push_str(&format!("{} blocks, {}, are not freed yet\n", exact(held.blocks), size(held.usable_bytes)));
    let mut table = table(&["category", ">blocks", ">bytes", ">requested", ">held", ">half lived less than"]);
    for histogram in &analysis.histograms {
        let all: Sums = histogram.sizes.iter().map(|bucket| bucket.sums).collect();
        let median = median_ns(&histogram.lifetimes).map_or("-".to_owned(), |ns| time(upper_end(ns)));
        table.add_row([
            histogram.category.to_string(),
            exact(all.blocks),
            size(all.usable_bytes),
            size(all.requested_bytes),
            share(histogram.held.usable_bytes, all.usable_bytes),
            median,
        ]);
    }
    out.push_str(&format!("\nBy category\n{}{}\n", table.text(width), coverage_sentence(&analysis.coverage)));
    out
}

/// The upper end of the bucket that begins at `from`.
fn upper_end(from: u64) -> u64 {
    from.saturating_mul(2).max(2)
}

/// One row for each bucket; `unit` writes its ends. The bars have what room the numbers leave.
fn histogram(head: &str, buckets: &[Bucket], all: Sums, unit: fn(u64) -> String, width: usize) -> String {
    if buckets.is_empty() {
        return "  none\n".to_owned();
    }
    let most = buckets.iter().map(|bucket| bucket.sums.usable_bytes).max().unwrap_or(0).max(1);
    let with_bars = |longest: usize| {
        let mut table = table(&[head, ">blocks", ">bytes", ">share", ""]);
        for bucket in buckets {
            let bytes = bucket.sums.usable_bytes;
            let length = (u128::from(bytes) * longest as u128).div_ceil(u128::from(most)) as usize;
            table.add_row([
                format!("{} to {}", unit(bucket.from), unit(upper_end(bucket.from))),
                exact(bucket.sums.blocks),
                size(bytes),
                share(bytes, all.usable_bytes),
                "\u{2588}".repeat(length),
            ]);
        }
        table
    };
    let room = width.saturating_sub(with_bars(0).whole_width());
    with_bars(room.clamp(SHORTEST_BAR, BAR_WIDTH)).text(width)
}
