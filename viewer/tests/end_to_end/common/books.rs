//! Made-up books, as newer recorders write them: a fine one at the peak and at marks, and a coarse one in every sample.
use alloc_timeline::{BeyondLine, Book, BookLine, BookPart, MarkBook, Timeline};

const KIB: i64 = 1 << 10;
const MIB: i64 = 1 << 20;

/// The run with a fine book at its peak and at the mark `end of step`, which it passes three times and which asked for a
/// book twice, and with the columns of coarse books.
pub fn with_books(mut timeline: Timeline) -> Timeline {
    let peak = timeline.book.take().expect("every made-up run has a book");
    let mark = alloc_timeline::Mark { time_ns: 0, name: "end of step".into(), live_bytes: 0, snapshot: None };
    for eighth in [2, 5, 7] {
        let time_ns = timeline.duration_ns / 8 * eighth;
        timeline.marks.push(alloc_timeline::Mark { time_ns, ..mark.clone() });
        if eighth > 2 {
            let book = fine_book(time_ns + 1_500_000, peak.live_bytes / 2, peak.rss_bytes);
            timeline.mark_books.push(MarkBook { name: mark.name.clone(), time_ns, book });
        }
    }
    timeline.marks.sort_by_key(|mark| mark.time_ns);
    timeline.book = Some(fine_book(peak.time_ns, peak.live_bytes, peak.rss_bytes));
    coarse_columns(&mut timeline);
    timeline
}

/// All lines that a recorder over jemalloc knows; what the others leave of the resident set are dirty pages.
fn fine_book(time_ns: u64, live_bytes: u64, rss_bytes: u64) -> Book {
    let jemalloc = "jemalloc's statistics";
    let smaps = "/proc/self/smaps";
    let live = live_bytes as i64;
    let stacks = [("[stack]", 180), ("trainer 4243", 52), ("worker 4244", 908), ("worker 4245", 84)];
    let files = [
        ("libtorch_cpu.so", 15 * KIB),
        ("trainer", 3 * KIB),
        ("libc.so.6", 1600),
        ("libstdc++.so.6", 900),
        ("libgomp.so.1", 120),
        ("libm.so.6", 400),
        ("others", 640),
    ];
    let mut lines = vec![
        line("requested by the program", live - live / 200, "the ledger", &[]),
        line("rounding to size classes", live / 200, "the ledger", &[]),
        line("blocks cached by the allocator", 700 * KIB, jemalloc, &[]),
        line("slack inside slabs", 2100 * KIB, jemalloc, &[]),
        line("dirty pages", 0, jemalloc, &[]),
        line("muzzy pages", 0, jemalloc, &[]),
        line("allocator's metadata", 4 * MIB, jemalloc, &[]),
        line(
            "claimed but never touched",
            -5 * MIB - 300 * KIB,
            "/proc/self/smaps and pagemap, against the claims",
            &[],
        ),
        line("tracker", 9 * MIB, "/proc/self/pagemap", &[]),
        line("stacks", 0, smaps, &stacks),
        line(
            "other anonymous memory",
            0,
            smaps,
            &[("[anon: code of oneDNN]", 1312), ("unnamed mapping of 8 MiB", 700)],
        ),
        line("zero-initialised data", 88 * KIB, smaps, &[]),
        line("written pages of libraries", 0, smaps, &[("libtorch_cpu.so", 880), ("libc.so.6", 20)]),
        line("pages of files", 0, smaps, &files),
        line("unexplained", 120 * KIB + 576, "RSS less the lines above", &[]),
    ];
    let known: i64 = lines.iter().map(|line| line.bytes).sum();
    lines[4].bytes = rss_bytes as i64 - known;
    Book { time_ns, live_bytes, rss_bytes, lines, beyond: beyond(rss_bytes as i64) }
}

/// A line; its parts are in KiB, and where it has any its bytes are their sum.
fn line(name: &str, bytes: i64, source: &str, parts: &[(&str, i64)]) -> BookLine {
    let part = |(name, kib): &(&str, i64)| BookPart { name: (*name).into(), bytes: kib * KIB };
    let parts: Vec<BookPart> = parts.iter().map(part).collect();
    let bytes = if parts.is_empty() { bytes } else { parts.iter().map(|part| part.bytes).sum() };
    BookLine { name: name.into(), bytes, source: source.into(), parts }
}

/// From the resident set to a limit of 2 GiB; the kernel's memory could not be read.
fn beyond(rss: i64) -> Vec<BeyondLine> {
    let line =
        |name: &str, bytes, total, source: &str| BeyondLine { name: name.into(), bytes, total, source: source.into() };
    let (pss, current, max) = (rss - 9 * MIB, rss + 31 * MIB, 2048 * MIB);
    vec![
        line("RSS", Some(rss), true, "/proc/self/statm"),
        line("shared with other processes", Some(-9 * MIB), false, "/proc/self/smaps_rollup"),
        line("PSS", Some(pss), true, "/proc/self/smaps_rollup"),
        line("other processes of the group", Some(6 * MIB), false, "their smaps_rollup"),
        line("page cache of the group that nobody maps", Some(22 * MIB), false, "memory.stat: file - file_mapped"),
        line("kernel memory", None, false, "memory.stat has no line `kernel`, so this kernel is older than 5.18"),
        line("memory.current", Some(current), true, "memory.current"),
        line("room until the limit", Some(max - current), false, "memory.max less memory.current"),
        line("memory.max", Some(max), true, "memory.max of /sys/fs/cgroup/job"),
    ]
}

/// The columns of the coarse books. What the others leave of the resident set is the allocator's, but for some pages that
/// nobody explains, now more and now fewer.
fn coarse_columns(timeline: &mut Timeline) {
    let series = &mut timeline.series;
    let rss = series.probes["rss"].clone();
    let mut before = 0;
    let mut columns: [Vec<Option<u64>>; 6] = Default::default();
    for (index, (rss, &live)) in rss.iter().zip(&series.live_bytes).enumerate() {
        // A third of what is new has not been touched yet.
        let untouched = live.saturating_sub(before) / 3;
        before = live;
        let unexplained = (index as i64 * 37 % 7 - 3) * 40 * KIB;
        let fixed = [("files", 24 * MIB), ("tracker", 9 * MIB), ("stacks", 1200 * KIB), ("other", 2 * MIB)];
        let others: i64 = fixed.iter().map(|line| line.1).sum();
        let rss = rss.expect("every made-up sample has one") as i64;
        let allocator = rss + untouched as i64 - live as i64 - others - unexplained;
        let values = [allocator, untouched as i64, fixed[0].1, fixed[1].1, fixed[2].1, fixed[3].1];
        columns.iter_mut().zip(values).for_each(|(column, value)| column.push(Some(value as u64)));
    }
    let names = ["rss_allocator", "rss_untouched", "rss_files", "rss_tracker", "rss_stacks", "rss_other"];
    series.probes.extend(names.map(str::to_owned).into_iter().zip(columns));
}
