//! Each rule with a book in which it gives the advice, and with one in which it must not.
use alloc_timeline::{BookLine, BookPart};

use super::*;
use crate::model::fixture::tiny;

const MIB: i64 = 1 << 20;

/// A book of 100 MiB, in which these lines have these MiB, and the rest is live.
fn book(lines: &[(&str, i64)]) -> Book {
    let line = |name: &str, mib: i64| BookLine { name: name.into(), bytes: mib * MIB, ..BookLine::default() };
    let live = 100 - lines.iter().map(|line| line.1).sum::<i64>();
    let lines = [("requested by the program", live)].iter().chain(lines).map(|(name, mib)| line(name, *mib)).collect();
    Book { rss_bytes: 100 << 20, lines, ..Book::default() }
}

/// A run over this allocator, as process 10.
fn run_over(allocator: Allocator) -> Timeline {
    Timeline { allocator, run: [("pid".to_owned(), 10.into())].into(), ..tiny() }
}

fn allocator(backend: &str, config: &[(&str, &str)]) -> Allocator {
    let config = config.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Allocator { backend: backend.into(), config, ..Allocator::default() }
}

/// The setting, and the MiB that it could give back.
fn advised(book: &Book, allocator: &Allocator) -> Option<(String, u64)> {
    advice(book, &run_over(allocator.clone())).map(|advice| (advice.setting, advice.up_to_bytes >> 20))
}

/// Settings of an allocator by name.
type Settings = &'static [(&'static str, &'static str)];

/// The lines of a book, jemalloc's settings, and the advice: a setting and the MiB that it could give back.
type Case = (&'static [(&'static str, i64)], Settings, Option<(&'static str, u64)>);

const NEVER: [(&str, &str); 2] = [("dirty_decay_ms", "-1"), ("muzzy_decay_ms", "-1")];

#[test]
fn jemalloc() {
    let cases: [Case; 14] = [
        // Both decay times matter: pages that are dropped lazily stay resident.
        (
            &[("dirty pages", 30), ("muzzy pages", 4)],
            &NEVER,
            Some(("_RJEM_MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0", 34)),
        ),
        (
            &[("dirty pages", 30)],
            &[("dirty_decay_ms", "10000"), ("muzzy_decay_ms", "0")],
            Some(("_RJEM_MALLOC_CONF=dirty_decay_ms:0", 30)),
        ),
        (
            &[("dirty pages", 30), ("muzzy pages", 4)],
            &[("dirty_decay_ms", "0"), ("muzzy_decay_ms", "-1")],
            Some(("_RJEM_MALLOC_CONF=muzzy_decay_ms:0", 4)),
        ),
        (&[("dirty pages", 30)], &[("dirty_decay_ms", "0"), ("muzzy_decay_ms", "0")], None),
        // What is set in the environment stays set.
        (
            &[("dirty pages", 30)],
            &[("dirty_decay_ms", "500"), ("muzzy_decay_ms", "0"), ("environment", "narenas:2")],
            Some(("_RJEM_MALLOC_CONF=narenas:2,dirty_decay_ms:0", 30)),
        ),
        // Older recorders knew one line for all that the allocator keeps.
        (
            &[("allocator: free pages and tables", 15)],
            &NEVER,
            Some(("_RJEM_MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0", 15)),
        ),
        (&[("slack inside slabs", 9)], &[], Some(("_RJEM_MALLOC_CONF=narenas:1", 9))),
        (&[("slack inside slabs", 9)], &[("environment", "narenas:1")], None),
        (&[("blocks cached by the allocator", 5)], &[], Some(("_RJEM_MALLOC_CONF=tcache:false", 5))),
        (&[("blocks cached by the allocator", 5)], &[("compiled_in", "oversize_threshold:0,tcache:false")], None),
        // The setting that could give back most is the one that is named.
        (&[("dirty pages", 5), ("slack inside slabs", 9)], &NEVER, Some(("_RJEM_MALLOC_CONF=narenas:1", 9))),
        // No setting gives back files, and nothing is said of a hundredth.
        (&[("pages of files", 60), ("tracker", 10)], &NEVER, None),
        (&[("dirty pages", 1)], &NEVER, None),
        (&[("claimed but never touched", -30), ("dirty pages", -9)], &NEVER, None),
    ];
    for (lines, config, expected) in cases {
        let expected = expected.map(|(setting, mib)| (setting.to_owned(), mib));
        assert_eq!(advised(&book(lines), &allocator("jemalloc", config)), expected, "{lines:?} {config:?}");
    }
}

#[test]
fn glibc() {
    let free = book(&[("free memory of the allocator", 20)]);
    let cases: [(Settings, Option<&str>); 4] = [
        (&[], Some("MALLOC_TRIM_THRESHOLD_=131072")),
        (&[("MALLOC_TRIM_THRESHOLD_", "1000000")], Some("MALLOC_ARENA_MAX=1")),
        (&[("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=1")], Some("MALLOC_ARENA_MAX=1")),
        (&[("MALLOC_TRIM_THRESHOLD_", "1000000"), ("MALLOC_ARENA_MAX", "2")], None),
    ];
    for (config, setting) in cases {
        let expected = setting.map(|setting| (setting.to_owned(), 20));
        assert_eq!(advised(&free, &allocator("system", config)), expected, "{config:?}");
    }
    // A rule for one allocator is none for another.
    assert_eq!(advised(&free, &allocator("mimalloc", &[])), None);
    assert_eq!(advised(&book(&[("dirty pages", 30)]), &allocator("system", &NEVER)), None);
}

#[test]
fn stacks_of_threads() {
    let mut book = book(&[("stacks", 12)]);
    let any = allocator("mimalloc", &[]);
    assert_eq!(advised(&book, &any), Some(("OMP_NUM_THREADS=1".to_owned(), 12)));
    let part = |name: &str, mib: i64| BookPart { name: name.into(), bytes: mib * MIB };
    book.lines[1].parts = vec![part("trainer (10)", 3), part("worker (11)", 5), part("worker (12)", 4)];
    assert_eq!(advised(&book, &any), Some(("OMP_NUM_THREADS=1".to_owned(), 9)));
    book.lines[1].parts = vec![part("[stack]", 12)];
    assert_eq!(advised(&book, &any), None);
}

#[test]
fn the_advice_says_what_is_set_now_and_names_the_lines() {
    let advice = |config: &[(&str, &str)]| {
        advice(&book(&[("dirty pages", 30)]), &run_over(allocator("jemalloc", config))).unwrap()
    };
    assert_eq!(advice(&NEVER).now, "jemalloc never gives freed pages back");
    assert_eq!(advice(&[("dirty_decay_ms", "10000")]).now, "jemalloc gives freed pages back over 10000 ms");
    assert_eq!(advice(&NEVER).lines, ["dirty pages"]);
}

#[test]
fn the_advice_says_how_to_run_both() {
    let compared = |lines: &[(&str, i64)], allocator| advice(&book(lines), &run_over(allocator)).unwrap().compare;
    let both = compared(&[("dirty pages", 30)], allocator("jemalloc", &NEVER));
    assert_eq!(both.as_deref(), Some("jemalloc,jemalloc:dirty_decay_ms:0+muzzy_decay_ms:0"));
    let both = compared(&[("free memory of the allocator", 30)], allocator("system", &[]));
    assert_eq!(both.as_deref(), Some("glibc,glibc:trim_threshold:131072"));
    assert_eq!(compared(&[("stacks", 30)], allocator("mimalloc", &[])), None);
}
