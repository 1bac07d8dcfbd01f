//! The lines of the book, held against memory of known amounts (`victims/book.rs`), over jemalloc and over glibc; and
//! the resident set's high-water mark, held against the kernel's own.
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use alloc_timeline::{Book, BookLine, Timeline};
use tests::{Ran, folder, text};

const VICTIM: &str = env!("CARGO_BIN_EXE_victim-book");
const MIB: i64 = 1 << 20;
/// What the tracker allocates on the program's threads, such as the names of marks, takes a few of the allocator's pages.
const TRACKERS_PAGES: i64 = 4;
/// jemalloc's tables grow with what it maps, glibc's heaps with what the recorder's threads need, and the readings of a book are
/// some tenths of a millisecond apart.
const OTHER_PAGES: i64 = 16;

const LINES: [&str; 14] = [
    "requested by the program",
    "rounding to size classes",
    "blocks cached by the allocator",
    "slack inside slabs",
    "dirty pages",
    "muzzy pages",
    "allocator's metadata",
    "claimed but never touched",
    "tracker",
    "stacks",
    "other anonymous memory",
    "zero-initialised data",
    "written pages of libraries",
    "pages of files",
];

fn page() -> i64 {
    // SAFETY: sysconf only reads a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }
}

/// The timeline of the victim over `backend`.
fn victim(backend: &str) -> Timeline {
    let folder = folder();
    let out = folder.path().join("victim.timeline.json");
    let ran =
        tests::run(Command::new(VICTIM).arg(&out).env("ALLOC_TRACKER_BACKEND", backend).env_remove("ALLOC_TRACKER"));
    alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}\n{}", ran.stderr))
}

fn book<'a>(timeline: &'a Timeline, mark: &str) -> &'a Book {
    let found = timeline.mark_books.iter().find(|book| book.name == mark).unwrap_or_else(|| panic!("no book {mark}"));
    assert!(timeline.marks.iter().any(|one| one.name == mark && one.time_ns == found.time_ns), "no mark {mark}");
    &found.book
}

fn line<'a>(book: &'a Book, name: &str) -> &'a BookLine {
    book.lines.iter().find(|line| line.name == name).unwrap_or_else(|| panic!("no line {name}: {book:?}"))
}

fn part(book: &Book, name: &str, part: &str) -> i64 {
    let parts = &line(book, name).parts;
    parts.iter().find(|one| one.name.starts_with(part)).unwrap_or_else(|| panic!("no part {part}: {parts:?}")).bytes
}

fn fact<'a>(timeline: &'a Timeline, key: &str) -> &'a str {
    timeline.run[key].as_str().expect("a text")
}

/// What the kernel alone knows does not depend on the allocator, and is right to the byte.
fn check_mappings(timeline: &Timeline) {
    let other = "other anonymous memory";
    let mapping = format!("unnamed mapping of 64 MiB at {}", fact(timeline, "mapping"));
    assert_eq!(part(book(timeline, "mapped"), other, &mapping), 32 * MIB);
    let unreserved = format!("unnamed mapping of 32 MiB at {}", fact(timeline, "unreserved"));
    assert_eq!(part(book(timeline, "unreserved"), other, &unreserved), 8 * MIB);
    let files = book(timeline, "files");
    assert_eq!(part(files, "pages of files", fact(timeline, "read")), 8 * MIB);
    assert_eq!(part(files, "written pages of libraries", fact(timeline, "written")), 10 * page());
    let shared = book(timeline, "shared");
    assert_eq!(part(shared, other, "/memfd:victim-pool"), 12 * MIB);
    assert_eq!(part(shared, other, "System V segment"), 4 * MIB);
    // Blocks are the allocator's, however they are aligned. (With an alignment of two pages, glibc leaves one before.)
    assert!(grown(timeline, other, ["before aligned", "aligned"]) <= page());
    // The victim has counted the thread's pages itself; the thread may use one more to wait.
    let deep = part(book(timeline, "stack"), "stacks", "deep (");
    let counted = timeline.run["stack"].as_i64().expect("a number");
    assert!((counted..=counted + page()).contains(&deep) && deep >= 5 * MIB, "{deep}, counted {counted}");
}

/// By how much a line grew from one book to another.
fn grown(timeline: &Timeline, name: &str, [from, to]: [&str; 2]) -> i64 {
    line(book(timeline, to), name).bytes - line(book(timeline, from), name).bytes
}

fn assert_near(found: i64, expected: i64, pages: i64, what: &str) {
    let off = found - expected;
    assert!(off.abs() <= pages * page(), "{what}: {found}, expected {expected}, {off} off");
}

#[test]
fn every_line_is_right_over_jemalloc() {
    let timeline = victim("jemalloc");
    check_mappings(&timeline);
    let fragments = ["before fragments", "fragments"];
    // Three of four blocks of 1 KiB were freed, and each slab of four kept one.
    assert_near(grown(&timeline, "slack inside slabs", fragments), 75_000 * 1024, TRACKERS_PAGES, "fragments");
    // Two large blocks, each with the page by which jemalloc varies addresses: that was slack before.
    let dirty = ["before dirty", "dirty"];
    assert_near(grown(&timeline, "dirty pages", dirty), 100 * MIB + 2 * page(), TRACKERS_PAGES, "dirty pages");
    for (marks, expected) in [(fragments, 75_000 * 1024), (dirty, 100 * MIB)] {
        let free: i64 = LINES[2..6].iter().map(|name| grown(&timeline, name, marks)).sum();
        assert_near(free, expected, TRACKERS_PAGES / 2, "free memory of all kinds");
    }
    // Nothing of the 160 MiB is resident. What jemalloc and the tracker write in their tables on that occasion is (4 to 18 pages
    // in 100 runs): the lines and the resident set grow by it alike.
    let untouched = ["dirty", "untouched"];
    let [before, after] = untouched.map(|mark| book(&timeline, mark).rss_bytes as i64);
    assert!(grown(&timeline, "claimed but never touched", untouched) <= -160 * MIB);
    let lines: i64 = LINES.iter().map(|name| grown(&timeline, name, untouched)).sum();
    assert_near(lines, after - before, TRACKERS_PAGES, "untouched");
    assert!(after - before < MIB, "{before} {after}");
    // A child that shares the tracker's pages takes nothing of them. (The free memory of its threads goes back to the kernel meanwhile.)
    let [before, shared] = ["before fork", "forked"].map(|mark| {
        let book = book(&timeline, mark);
        ["shadow_map", "tables", "threads"].iter().map(|name| part(book, "tracker", name)).sum::<i64>()
    });
    assert_near(shared, before, TRACKERS_PAGES, "the tracker's pages, shared");
    for mark in &timeline.mark_books {
        let names: Vec<&str> = mark.book.lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, [&LINES[..], &["unexplained"]].concat(), "{}", mark.name);
        let unexplained = line(&mark.book, "unexplained").bytes;
        // The recorder runs for the first time while the first two books are taken: its pages of code become resident.
        let is_first = ["start", "mapped"].contains(&mark.name.as_str());
        assert!(unexplained.abs() <= if is_first { MIB } else { OTHER_PAGES * page() }, "{mark:?}");
        assert!(mark.book.lines.iter().all(|line| !line.source.is_empty()));
    }
}

#[test]
fn glibc_leaves_at_most_two_per_cent_unexplained() {
    let timeline = victim("system");
    check_mappings(&timeline);
    for mark in &timeline.mark_books {
        let (unexplained, rss) = (line(&mark.book, "unexplained").bytes, mark.book.rss_bytes as i64);
        assert!(unexplained.abs() * 50 <= rss.max(50 * MIB), "{}: {unexplained} of {rss}", mark.name);
    }
    // Blocks of 80 and 20 MiB have mappings of their own, which glibc gives back. Its heaps grow by 128 KiB at a time, which count
    // as free, and as never touched, until they are used.
    let free = ["free memory of the allocator", "claimed but never touched"];
    let free = free.map(|name| grown(&timeline, name, ["before dirty", "dirty"])).iter().sum();
    assert_near(free, 0, OTHER_PAGES, "free memory");
}

/// A dump has a book of its own instant.
#[test]
fn a_dump_has_a_book() {
    let folder = folder();
    let out = folder.path().join("victim.timeline.json");
    let ran =
        tests::run(Command::new(VICTIM).arg(&out).env("ALLOC_TRACKER_DUMP_AT", "64MiB").env_remove("ALLOC_TRACKER"));
    let dump = folder.path().join("victim.threshold-1.timeline.json");
    let dump = alloc_timeline::load(&dump).unwrap_or_else(|error| panic!("{error}\n{}", ran.stderr));
    let book = book(&dump, &format!("threshold {}", 64 * MIB));
    assert!(book.live_bytes >= 32 << 20, "{book:?}");
}

/// The kernel's largest resident set is the same by three ways: VmHWM, which the timeline has, `ru_maxrss`, which the
/// parent gets when the process has ended, and what GNU time prints, which is `ru_maxrss`. The kernel promises each only
/// as exactly as its counters, which it keeps by core and adds up in batches of 64 pages (since 6.2; before, by thread):
/// so many pages for each of three kinds. What the process does after the session has ended adds to `ru_maxrss` alone: a few pages.
#[test]
fn the_high_water_mark_is_the_kernels() {
    let folder = folder();
    let out = folder.path().join("victim.timeline.json");
    let high_water_mark = || {
        let timeline = alloc_timeline::load(&out).expect("a timeline");
        let lane = timeline.lanes.iter().find(|lane| lane.name == "rss").expect("the lane rss");
        lane.peak_bytes.expect("VmHWM") as i64
    };
    // SAFETY: sysconf only reads a number.
    let cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    let batches = 3 * cores * (2 * cores).max(64);
    let largest = run_and_measure(Command::new(VICTIM).arg(&out).env_remove("ALLOC_TRACKER"));
    assert_near(high_water_mark(), largest, batches + OTHER_PAGES, "VmHWM, ru_maxrss");
    let time = Command::new("time").args(["-f", "%M", VICTIM, text(&out)]).env_remove("ALLOC_TRACKER").output();
    let Ok(time) = time else { return println!("SKIPPED: GNU time is not installed") };
    let ran = Ran::from(time);
    let printed: i64 = ran.stderr.trim().parse().unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    assert_near(high_water_mark(), printed * 1024, batches + OTHER_PAGES, "VmHWM, GNU time");
}

/// Runs a program; returns the largest resident set that the kernel tells its parent, in bytes.
#[allow(clippy::zombie_processes, reason = "wait4 waits for the child, and gets its usage as well")]
fn run_and_measure(command: &mut Command) -> i64 {
    let child = command.spawn().expect("the victim");
    let mut status = 0;
    // SAFETY: both results are valid for writing, and zeroes are a value of rusage; the child is this function's, and
    // nobody else waits for it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(child.id() as i32, &mut status, 0, &mut usage), child.id() as i32);
        usage
    };
    let status = std::process::ExitStatus::from_raw(status);
    assert!(status.success(), "{status}");
    usage.ru_maxrss * 1024
}
