//! The book's lines, compared with the kernel's own figures of the resident set.
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

/// At the peak, at most 0.5 % of the resident set or 1 MiB, whichever is more.
#[test]
fn next_to_nothing_is_unexplained_at_the_peak() {
    for (name, timeline) in runs() {
        let book = book(timeline);
        let last = book.lines.last().expect("lines");
        assert_eq!(last.name, "unexplained", "{name}");
        let most = (book.rss_bytes / 200).max(1 << 20);
        assert!(last.bytes.unsigned_abs() <= most, "{name}: {} of {}", last.bytes, book.rss_bytes);
    }
}

/// In every sample, `rss` less the columns of the coarse book and the live bytes: at most 1 % of `rss` in 95 % of the
/// samples of a training run.
#[test]
fn the_samples_stack_up_to_the_resident_set() {
    let timeline = Config::train("resnet18", 8, 224, 24).run();
    let column = |name: &str| &timeline.series.probes[name];
    let rest = |index: usize| {
        let of = |name: &str| column(name)[index].map(|bytes| bytes as i64);
        let added = ["rss_files", "rss_tracker", "rss_stacks", "rss_allocator", "rss_other"].map(of);
        let added: Option<i64> = added.into_iter().sum();
        let known = timeline.series.live_bytes[index] as i64 + added? - of("rss_untouched")?;
        let rss = of("rss")?;
        Some((rss - known).abs() as f64 / rss as f64)
    };
    // The first samples come before the first survey.
    let mut rests: Vec<f64> = (0..timeline.series.time_ns.len()).map(|index| rest(index).unwrap_or(1.0)).collect();
    rests.sort_by(f64::total_cmp);
    let [half, most, last] = [rests.len() / 2, rests.len() * 95 / 100, rests.len() - 1].map(|index| rests[index]);
    println!(
        "unexplained of {} samples: half at most {half:.4}, 95 % at most {most:.4}, all at most {last:.4}",
        rests.len()
    );
    assert!(most <= 0.01, "95 % of {} samples leave at most {most:.4}", rests.len());
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

/// The book's resident set is that of its own instant, read from other files than the samples of statm just before and
/// after it. jemalloc keeps its pages here, so the resident set only grows and the book lies between the two; 1 % is
/// for the pages that the kernel counts in batches of 64 a thread. VmHWM, the kernel's own maximum, is never below
/// either.
#[test]
fn the_book_agrees_with_the_kernels_other_counts() {
    for (name, timeline) in runs() {
        let book = book(timeline);
        let (times, samples) = (&timeline.series.time_ns, &timeline.series.probes["rss"]);
        let after = times.partition_point(|&time| time < book.time_ns).min(times.len() - 1);
        let [low, high] = [after.saturating_sub(1), after].map(|index| samples[index].expect("/proc/self/statm"));
        let rss = book.rss_bytes;
        assert!(low - low / 100 <= rss && rss <= high + high / 100, "{name}: statm {low} to {high}, book {rss}");
        let lane = timeline.lanes.iter().find(|lane| lane.name == "rss").expect("the lane rss");
        let most = lane.peak_bytes.expect("VmHWM");
        assert!(rss <= most + most / 100, "{name}: VmHWM {most}, book {rss}");
        let at_peak = lane.at_peak_bytes.expect("/proc/self/statm");
        assert!(at_peak <= most, "{name}: VmHWM {most}, at the peak {at_peak}");
    }
}
