//! The tracker does not change the program's heap: the same workload (`victims/heap_workload.rs`) leaves the same
//! counters in jemalloc, to the single block, whether it is tracked or not.
//!
//! For most of that, jemalloc's caches per thread are off. What they fetch and give back depends on addresses that the
//! kernel chooses at random, so with them two runs of one untracked program differ too. With them on, what must be
//! equal is what the program does: sizes, alignment, and blocks asked for and live in each small size class.
use std::process::Command;

use tests::{Ran, run};

const TRACKED: &str = env!("CARGO_BIN_EXE_victim-undistorted");
const PLAIN: &str = env!("CARGO_BIN_EXE_victim-undistorted-plain");

/// Runs a program with these settings of jemalloc, and with no others from the environment.
fn run_with(path: &str, settings: &str, tracker: Option<&str>, arguments: &[&str]) -> Ran {
    let mut command = Command::new(path);
    command.args(arguments).env_remove("ALLOC_TRACKER").env("_RJEM_MALLOC_CONF", settings);
    command.envs(tracker.map(|value| ("ALLOC_TRACKER", value)));
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(0), "{path}: {}", ran.stderr);
    ran
}

fn report(path: &str, tracker: Option<&str>) -> String {
    run_with(path, "tcache:false", tracker, &[]).stdout
}

/// The number behind `words` in the workload's output.
fn number(report: &str, words: &str) -> u64 {
    let (_, rest) = report.split_once(words).unwrap_or_else(|| panic!("no {words:?} in\n{report}"));
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number behind {words:?} in\n{report}"))
}

/// Bytes in use, blocks made and given back in every size class, usable sizes, the places of blocks in their pages,
/// alignment, and how many reallocs stayed where they were.
#[test]
fn a_tracked_heap_is_the_heap_of_plain_jemalloc() {
    let plain = report(PLAIN, None);
    assert_eq!(report(TRACKED, None), plain, "tracked (left), plain jemalloc (right)");
    assert_eq!(report(TRACKED, Some("off")), plain, "tracking off (left), plain jemalloc (right)");
}

/// The hot path takes blocks from jemalloc's cache of the thread without calling jemalloc. All of them are in jemalloc's
/// figures all the same.
#[test]
fn a_cache_that_the_tracker_uses_is_used_as_by_jemalloc() {
    let report = |path, tracker, cache: &[(&str, &str)]| -> Vec<String> {
        let mut command = Command::new(path);
        command.env_remove("ALLOC_TRACKER").env_remove("ALLOC_TRACKER_CACHE").env_remove("_RJEM_MALLOC_CONF");
        command.envs(Option::map(tracker, |value: &str| ("ALLOC_TRACKER", value))).envs(cache.iter().copied());
        let ran = run(&mut command);
        assert_eq!(ran.code, Some(0), "{path}: {}", ran.stderr);
        let programs = |line: &&str| ["sizes", "misaligned", "small class"].iter().any(|word| line.contains(word));
        let lines = ran.stdout.lines().filter(programs);
        // How many reallocs of large blocks stay in place depends on addresses.
        lines.map(|line| line.split(", reallocs").next().unwrap_or_default().to_owned()).collect()
    };
    let plain = report(PLAIN, None, &[]);
    assert!(plain.len() > 50 && plain.iter().any(|line| line.contains("requested")), "{plain:#?}");
    assert_eq!(report(TRACKED, None, &[]), plain, "tracked (left), plain jemalloc (right)");
    assert_eq!(report(TRACKED, None, &[("ALLOC_TRACKER_CACHE", "off")]), plain, "by calls (left), plain (right)");
    assert_eq!(report(TRACKED, Some("off"), &[]), plain, "tracking off (left), plain jemalloc (right)");
}

/// The comparison above needs a workload that has small and large blocks, and that grows blocks in place and moves
/// others.
#[test]
fn the_workload_is_worth_comparing() {
    let report = report(TRACKED, None);
    assert_eq!(number(&report, "misaligned"), 0, "{report}");
    let (reallocs, in_place) = (number(&report, "reallocs"), number(&report, "of them in place"));
    assert!(reallocs > 50_000 && in_place > 5_000 && in_place < reallocs, "{report}");
    // 6 blocks grow 40 times.
    assert_eq!(number(&report, "large reallocs"), 240, "{report}");
    let classes = report.lines().filter(|line| line.starts_with("at the height: class")).count();
    assert!(classes > 50, "{report}");
    // The workload frees all its blocks.
    assert!(report.contains("at the end: allocated 0\n"), "{report}");
}

/// "Plain jemalloc of the same configuration", which the benchmark divides by, has all of jemalloc's options as the
/// tracker has them.
#[test]
fn the_plain_programs_run_jemalloc_as_the_tracker_sets_it() {
    let options = |path: &str, arguments: &[&str]| -> Vec<String> {
        let said = run_with(path, "stats_print:true", None, arguments).stderr;
        let option = |line: &&str| line.trim_start().starts_with("opt.") || line.contains("malloc_conf");
        said.lines().filter(option).map(str::to_owned).collect()
    };
    let tracked = options(env!("CARGO_BIN_EXE_churn-tracked"), &["1000", "1"]);
    assert!(tracked.iter().any(|line| line.trim_start().starts_with("opt.dirty_decay_ms:")), "{tracked:?}");
    assert_eq!(options(env!("CARGO_BIN_EXE_churn-jemalloc"), &["1000", "1"]), tracked);
    assert_eq!(options(env!("CARGO_BIN_EXE_json-tracked"), &["1"]), tracked);
    assert_eq!(options(env!("CARGO_BIN_EXE_json-jemalloc"), &["1"]), tracked);
}
