//! One program over three allocators: the requested bytes and the blocks of each scope are the same with all of them.
//! `victims/mix.rs` is the program; all its allocations come through Rust's door.
use std::collections::BTreeMap;

use alloc_timeline::{Door, Timeline};
use tests::{folder, rows, run, tables};

const TRACKER: &str = env!("CARGO_BIN_EXE_victim-mix-tracker");
const MIMALLOC: &str = env!("CARGO_BIN_EXE_victim-mix-mimalloc");

fn mixed(program: &str, seed: &str, environment: &[(&str, &str)]) -> Timeline {
    let folder = folder();
    // A name that all three have: the arguments are blocks, too.
    let (name, out) = (folder.path().join("mix"), folder.path().join("mix.timeline.json"));
    std::os::unix::fs::symlink(program, &name).expect("a link to the program");
    let mut command = std::process::Command::new(&name);
    command.arg(&out).arg(seed).env_remove("ALLOC_TRACKER").env_remove("ALLOC_TRACKER_BACKEND");
    let ran = run(command.envs(environment.iter().copied()));
    assert_eq!(ran.code, Some(0), "{program} {environment:?}: {}", ran.stderr);
    alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{program} {environment:?}: {error}"))
}

/// What a scope asked for: allocations, frees, and in the middle of the run requested bytes and blocks.
type Asked = BTreeMap<(String, String), (u64, u64, u64, u64)>;

fn asked(timeline: &Timeline) -> Asked {
    let mut asked = Asked::new();
    for totals in &timeline.totals.by_scope {
        let scope = &timeline.scopes[totals.scope as usize];
        let entry = asked.entry((scope.phase.clone(), scope.layer.clone())).or_default();
        (entry.0, entry.1) = (entry.0 + totals.allocations, entry.1 + totals.frees);
    }
    for (scope, row) in rows(timeline, tables(timeline, "middle")[0]) {
        let entry = asked.entry((scope.phase.clone(), scope.layer.clone())).or_default();
        (entry.2, entry.3) = (entry.2 + row.requested_bytes, entry.3 + row.blocks);
    }
    asked
}

#[test]
fn one_program_three_allocators() {
    for seed in ["1", "2"] {
        let exact = ("ALLOC_TRACKER", "exact");
        let jemalloc = mixed(TRACKER, seed, &[exact]);
        let system = mixed(TRACKER, seed, &[exact, ("ALLOC_TRACKER_BACKEND", "system")]);
        let mimalloc = mixed(MIMALLOC, seed, &[exact]);
        assert_eq!(jemalloc.allocator.backend, "jemalloc");
        assert_eq!(system.allocator.backend, "system");
        assert!(system.allocator.version.starts_with("glibc 2."), "{}", system.allocator.version);
        assert_eq!(mimalloc.allocator.backend, "mimalloc::MiMalloc");

        let expected = asked(&jemalloc);
        // 4 phases of 3 layers each, and the scope outside of all.
        assert!(expected.len() >= 12, "{expected:?}");
        let allocations: u64 = expected.values().map(|asked| asked.0).sum();
        assert!(allocations > 5_000, "{allocations}");
        let peak = |timeline: &Timeline| timeline.peak_requested.map(|peak| (peak.bytes, peak.blocks));
        assert!(peak(&jemalloc) > Some((1 << 20, 100)), "{:?}", jemalloc.peak_requested);
        for other in [&system, &mimalloc] {
            assert_eq!(asked(other), expected, "{} {seed}", other.allocator.backend);
            assert_eq!(peak(other), peak(&jemalloc), "{} {seed}", other.allocator.backend);
        }
        // Counting in batches gives the same counts as exact mode.
        for batched in [
            mixed(TRACKER, seed, &[]),
            mixed(TRACKER, seed, &[("ALLOC_TRACKER_BACKEND", "system")]),
            mixed(MIMALLOC, seed, &[]),
        ] {
            assert_eq!(asked(&batched), expected, "{} {seed}", batched.allocator.backend);
        }
        for timeline in [&jemalloc, &system, &mimalloc] {
            assert_eq!(timeline.allocator.doors, [Door::Rust]);
            assert_eq!((timeline.tracker.foreign_frees, timeline.tracker.dropped_events), (Some(0), Some(0)));
        }
        // The usable size depends on the allocator: jemalloc has size classes, glibc has multiples of 16 less 8. Where
        // the tracker cannot ask the allocator, it is the requested size.
        assert!(system.peak.live_bytes > system.peak.requested_bytes);
        assert_eq!(mimalloc.peak.live_bytes, mimalloc.peak.requested_bytes);
    }
}

/// The book has lines for what an allocator says of itself. Where it says nothing, the lines say so, and the memory that
/// might be its own is unexplained.
#[test]
fn the_book_says_what_it_knows() {
    let line = |timeline: &Timeline, name: &str| {
        let book = timeline.book.as_ref().expect("a book");
        assert_eq!(book.lines.iter().map(|line| line.bytes).sum::<i64>(), book.rss_bytes as i64);
        book.lines.iter().find(|line| line.name == name).map(|line| (line.bytes, line.source.clone()))
    };
    let is_known = |found: Option<(i64, String)>| found.is_some_and(|(_, source)| !source.contains("unavailable"));
    let system = mixed(TRACKER, "3", &[("ALLOC_TRACKER_BACKEND", "system")]);
    assert!(line(&system, "free memory of the allocator").is_some_and(|(bytes, _)| bytes > 0));
    assert!(is_known(line(&system, "claimed but never touched")));
    assert!(system.series.probes.contains_key("glibc_held"));
    assert!(!system.series.probes.contains_key("jemalloc_resident"));
    let mimalloc = mixed(MIMALLOC, "3", &[]);
    assert!(line(&mimalloc, "free memory of the allocator").is_none() && line(&mimalloc, "dirty pages").is_none());
    for name in ["claimed but never touched", "other anonymous memory"] {
        assert!(!is_known(line(&mimalloc, name)), "{name}");
    }
    assert!(line(&mimalloc, "unexplained").is_some_and(|(bytes, _)| bytes > 0));
    assert!(mimalloc.allocator.config["statistics"].starts_with("unavailable"));
    let jemalloc = mixed(TRACKER, "3", &[]);
    assert!(is_known(line(&jemalloc, "dirty pages")) && is_known(line(&jemalloc, "claimed but never touched")));
}

/// With the tracker switched off, the program runs and nothing is counted.
#[test]
fn switched_off() {
    for (program, backend, name) in
        [(TRACKER, "system", "system"), (TRACKER, "", "jemalloc"), (MIMALLOC, "", "mimalloc::MiMalloc")]
    {
        let timeline = mixed(program, "4", &[("ALLOC_TRACKER", "off"), ("ALLOC_TRACKER_BACKEND", backend)]);
        assert_eq!((timeline.totals.allocations, timeline.peak.live_bytes), (0, 0), "{program} {backend}");
        assert_eq!(timeline.run["tracker_mode"], "off");
        assert_eq!(timeline.allocator.backend, name);
    }
}

/// With `Over` for Rust and the tracker's own allocator for C, no session starts, and the program goes on.
#[test]
fn two_at_once_are_refused() {
    let folder = folder();
    let out = folder.path().join("two.timeline.json");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_victim-two-backends"));
    let ran = run(command.arg(&out).env_remove("ALLOC_TRACKER").env_remove("ALLOC_TRACKER_BACKEND"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout, "refused: std::alloc::System\nsum: 49995000\n");
    assert!(!out.exists());
}
