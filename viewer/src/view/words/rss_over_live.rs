//! The paragraph that says why the resident set is larger than the live bytes.
use alloc_timeline::{Book, Timeline};
use serde::Serialize;

use crate::analysis::{Advice, Cause, RssOverLive, rss_over_live};
use crate::model::{COARSE_ALLOCATOR, meaning_of, share, size};

/// Lines that make less than this part of the difference are not told one by one: a fiftieth.
const LEAST_SHARE: u64 = 50;
/// The most lines that are told one by one.
const MOST_CAUSES: usize = 4;

/// Why the resident set is not the live bytes: the figures, and the paragraph that tells them.
#[derive(Clone, Debug, Serialize)]
pub struct RssExplained {
    /// The figures.
    #[serde(flatten)]
    pub figures: RssOverLive,
    /// The paragraph, sentence by sentence.
    pub sentences: Vec<String>,
}

/// Why the resident set of this book, one of a timeline's, is not the live bytes; `None` where the book does not say what
/// is live.
pub fn rss_explained(book: &Book, timeline: &Timeline) -> Option<RssExplained> {
    let figures = rss_over_live(book, timeline)?;
    let mut sentences = vec![first_sentence(&figures)];
    sentences.extend(causes(&figures));
    sentences.extend(highest(figures.rss_bytes, timeline));
    match &figures.advice {
        Some(advice) => sentences.extend(advice_sentences(advice, figures.rss_bytes)),
        None if book.lines.iter().any(|line| line.name == COARSE_ALLOCATOR) => {
            sentences.push("A coarse book does not divide the allocator's bytes, so it names no setting.".to_owned());
        }
        None if figures.difference_bytes > 0 => {
            sentences.push("No setting of the allocator would change much.".to_owned());
        }
        None => {}
    }
    Some(RssExplained { figures, sentences })
}

impl RssExplained {
    /// The heading of the paragraph.
    pub(in crate::view) fn heading(&self) -> &'static str {
        match self.figures.difference_bytes {
            0 => "Why RSS is as large as live",
            1.. => "Why RSS is larger than live",
            _ => "Why RSS is smaller than live",
        }
    }
}

fn first_sentence(difference: &RssOverLive) -> String {
    let RssOverLive { live_bytes, rss_bytes, difference_bytes, .. } = *difference;
    let live = u64::try_from(live_bytes).unwrap_or(0);
    let (rss, amount) = (size(rss_bytes), difference_bytes.unsigned_abs());
    match difference_bytes {
        0 => format!("RSS is {rss}, as much as is live."),
        1.. => {
            let more = share(amount, live);
            format!("RSS is {rss} and live bytes are {}: {} more, {more} of live.", size(live), size(amount))
        }
        _ => format!("RSS is {rss} and live bytes are {}: {} less.", size(live), size(amount)),
    }
}

/// How much higher the resident set was at another time, where that is more than a fiftieth: over some allocators it is
/// highest when little is live.
fn highest(rss_bytes: u64, timeline: &Timeline) -> Option<String> {
    let highest = timeline.lanes.iter().find(|lane| lane.name == "rss")?.peak_bytes?;
    let more = highest.checked_sub(rss_bytes).filter(|more| *more > rss_bytes / LEAST_SHARE)?;
    Some(format!("At its highest, RSS was {}: {} more than here.", size(highest), size(more)))
}

/// The lines that make the difference, the biggest first: a sentence for each of the biggest, and one for the others.
fn causes(difference: &RssOverLive) -> Vec<String> {
    let least = difference.difference_bytes.unsigned_abs() / LEAST_SHARE;
    let (adds, takes): (Vec<&Cause>, Vec<&Cause>) = difference.causes.iter().partition(|cause| cause.bytes > 0);
    let told = adds.iter().take(MOST_CAUSES).filter(|cause| cause.bytes.unsigned_abs() >= least).count();
    let (big, small) = adds.split_at(told);
    let mut sentences: Vec<String> = big.iter().map(|cause| cause_sentence(cause)).collect();
    let rest = small.iter().map(|cause| cause.bytes.unsigned_abs()).fold(0, u64::saturating_add);
    match (small, rest) {
        (_, 0) => {}
        ([one], _) => sentences.push(cause_sentence(one)),
        (many, rest) => sentences.push(format!("{} other lines add {} together.", many.len(), size(rest))),
    }
    for cause in takes.iter().filter(|cause| cause.bytes.unsigned_abs() >= least.max(1)) {
        let meaning = meaning_of(&cause.name).map_or_else(String::new, |meaning| format!(" ({meaning})"));
        sentences.push(format!("\"{}\"{meaning} takes {} away.", cause.name, size(cause.bytes.unsigned_abs())));
    }
    sentences
}

fn cause_sentence(cause: &Cause) -> String {
    let meaning = meaning_of(&cause.name).map_or_else(String::new, |meaning| format!(": {meaning}"));
    format!("\"{}\" adds {}{meaning}.", cause.name, size(cause.bytes.unsigned_abs()))
}

fn advice_sentences(advice: &Advice, rss_bytes: u64) -> [String; 4] {
    let up_to =
        format!("{} at this instant ({} of RSS)", size(advice.up_to_bytes), share(advice.up_to_bytes, rss_bytes));
    let check = match &advice.compare {
        Some(specs) => format!(
            "Check it: `trainer compare --allocator {specs}` runs both; with another program, `viewer compare` the \
             timelines of a run with the setting and one without."
        ),
        None => "Check it: `viewer compare` the timelines of a run with the setting and one without.".to_owned(),
    };
    [
        format!("One setting would change most: {} would give back up to {up_to}.", advice.setting),
        format!("Now {}.", advice.now),
        format!("It has a price: {}.", advice.cost),
        check,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;
    use alloc_timeline::{Allocator, BookLine};

    const MIB: i64 = 1 << 20;

    /// A book with these lines, in MiB.
    fn book(lines: &[(&str, i64)]) -> Book {
        let line =
            |(name, mib): &(&str, i64)| BookLine { name: (*name).into(), bytes: mib * MIB, ..BookLine::default() };
        let rss = lines.iter().map(|line| line.1 * MIB).sum::<i64>();
        Book { rss_bytes: rss.unsigned_abs(), lines: lines.iter().map(line).collect(), ..Book::default() }
    }

    fn paragraph(lines: &[(&str, i64)]) -> String {
        let config = [("dirty_decay_ms".to_owned(), "-1".to_owned()), ("muzzy_decay_ms".to_owned(), "0".to_owned())];
        let allocator = Allocator { backend: "jemalloc".into(), config: config.into(), ..Allocator::default() };
        rss_explained(&book(lines), &Timeline { allocator, ..tiny() }).unwrap().sentences.join("\n")
    }

    #[test]
    fn the_biggest_lines_come_first_and_the_small_ones_together() {
        let text = paragraph(&[
            ("requested by the program", 860),
            ("tracker", 12),
            ("dirty pages", 150),
            ("claimed but never touched", -6),
            ("pages of files", 87),
            ("stacks", 1),
            ("muzzy pages", 2),
            ("unexplained", 0),
        ]);
        let expected = "\
RSS is 1,106.0 MiB and live bytes are 860.0 MiB: 246.0 MiB more, 28.6 % of live.
\"dirty pages\" adds 150.0 MiB: freed pages that the allocator keeps for the next blocks.
\"pages of files\" adds 87.0 MiB: code and data of mapped files, which the kernel drops when memory is short.
\"tracker\" adds 12.0 MiB: the profiler's own memory, which goes when it goes.
2 other lines add 3.0 MiB together.
\"claimed but never touched\" (pages that the allocator claimed and nobody wrote to) takes 6.0 MiB away.
One setting would change most: _RJEM_MALLOC_CONF=dirty_decay_ms:0 would give back up to 152.0 MiB at this instant \
(13.7 % of RSS).
Now jemalloc never gives freed pages back.
It has a price: pages that are needed again are faulted in anew, which makes steps slower.
Check it: `trainer compare --allocator jemalloc,jemalloc:dirty_decay_ms:0` runs both; with another program, `viewer \
compare` the timelines of a run with the setting and one without.";
        assert_eq!(text, expected);
    }

    #[test]
    fn where_no_setting_matters_no_advice_is_given() {
        let text = paragraph(&[("requested by the program", 90), ("dirty pages", 1), ("pages of files", 9)]);
        assert!(text.ends_with("No setting of the allocator would change much."), "{text}");
        assert!(!text.contains("One setting"), "{text}");
    }

    #[test]
    fn a_resident_set_that_was_higher_elsewhere_is_told() {
        let mut timeline = tiny();
        timeline.lanes[0].peak_bytes = Some(150 << 20);
        let told = |mib: i64| rss_explained(&book(&[("live", mib)]), &timeline).unwrap().sentences.join(" ");
        assert!(told(100).contains("At its highest, RSS was 150.0 MiB: 50.0 MiB more than here."), "{}", told(100));
        assert!(!told(149).contains("highest") && !told(151).contains("highest"), "{}", told(149));
    }

    #[test]
    fn a_coarse_book_names_no_setting() {
        let text = paragraph(&[("live", 100), ("allocator", 50)]);
        assert!(text.ends_with("so it names no setting."), "{text}");
    }

    #[test]
    fn a_resident_set_below_the_live_bytes_is_explained_as_well() {
        let text = paragraph(&[("live", 100), ("claimed but never touched", -40), ("files", 10)]);
        let expected = "\
RSS is 70.0 MiB and live bytes are 100.0 MiB: 30.0 MiB less.
\"files\" adds 10.0 MiB: code and data of mapped files, which the kernel drops when memory is short.
\"claimed but never touched\" (pages that the allocator claimed and nobody wrote to) takes 40.0 MiB away.";
        assert_eq!(text, expected);
        assert_eq!(paragraph(&[("live", 100)]), "RSS is 100.0 MiB, as much as is live.");
    }

    #[test]
    fn a_line_that_nobody_knows_is_named_without_a_meaning() {
        let text = paragraph(&[("live", 100), ("gremlins", 30)]);
        assert!(text.contains("\n\"gremlins\" adds 30.0 MiB.\n"), "{text}");
    }
}
