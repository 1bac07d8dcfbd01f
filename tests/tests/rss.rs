//! The book: what is resident, line by line, against the kernel's own figure.
use alloc_timeline::{Book, Timeline};
use tests::Config;

fn runs() -> [(&'static str, &'static Timeline); 3] {
    let mobilenet = Config::train("mobilenet_v1", 8, 224, 3);
    [
        ("resnet18 train", Config::train("resnet18", 8, 224, 3).run()),
        ("mobilenet_v1 train", mobilenet.run()),
        ("mobilenet_v1 infer", Config { mode: "infer", ..mobilenet }.run()),
    ]
}

fn book(timeline: &Timeline) -> &Book {
    timeline.book.as_ref().expect("/proc can be read here")
}

#[test]
fn the_lines_sum_to_the_resident_set() {
    for (name, timeline) in runs() {
        let book = book(timeline);
        let sum: i64 = book.lines.iter().map(|line| line.bytes).sum();
        assert_eq!(sum, book.rss_bytes as i64, "{name}");
    }
}

#[test]
fn at_most_two_per_cent_are_unexplained() {
    for (name, timeline) in runs() {
        let book = book(timeline);
        let last = book.lines.last().expect("lines");
        assert_eq!(last.name, "unexplained", "{name}");
        assert!(last.bytes.unsigned_abs() * 50 <= book.rss_bytes, "{name}: {} of {}", last.bytes, book.rss_bytes);
    }
}

/// The book is taken on a tick near the peak, so its live bytes are below the peak's by what came after that tick. A
/// book that missed the peak by more than 5 % would explain another moment than the one that matters.
#[test]
fn the_book_is_of_the_peak() {
    for (name, timeline) in runs() {
        let (book, peak) = (book(timeline).live_bytes, timeline.peak.live_bytes);
        assert!(
            book <= peak + timeline.peak.slack_bytes && (peak - book.min(peak)) * 20 <= peak,
            "{name}: {book} of {peak}"
        );
    }
}

/// VmHWM is the kernel's own maximum over the whole process. It is at least what the book found (but for pages that
/// the kernel counts in batches of 64 a thread, some MiB at most), and the book lies near the peak, so the two differ
/// by what was resident for less than a tick, and by workspace of steps before that went back since: 5 %.
#[test]
fn the_book_agrees_with_the_kernels_high_water_mark() {
    for (name, timeline) in runs() {
        let rss = timeline.lanes.iter().find(|lane| lane.name == "rss").expect("the lane rss");
        let (high, book) = (rss.peak_bytes.expect("VmHWM"), book(timeline).rss_bytes);
        assert!(high.abs_diff(book) * 20 <= high, "{name}: VmHWM {high}, book {book}");
        let at_peak = rss.at_peak_bytes.expect("/proc/self/statm");
        assert!(at_peak <= high && at_peak.abs_diff(book) * 20 <= high, "{name}: statm {at_peak}, book {book}");
    }
}
