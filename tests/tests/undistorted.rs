//! The heap under the tracker is the heap that the program would have had: the same story (`victims/heap_story.rs`) leaves
//! the same counters in jemalloc, to the single block, whether it is tracked or not.
//!
//! jemalloc's caches per thread are off here, because what they fetch and give back depends on addresses that the kernel
//! draws: with them, two runs of one untracked program differ too.
use std::process::Command;

use tests::{Ran, run};

const TRACKED: &str = env!("CARGO_BIN_EXE_victim-undistorted");
const PLAIN: &str = env!("CARGO_BIN_EXE_victim-undistorted-plain");

/// A run of a program in which only what is said here steers the allocator.
fn told(path: &str, settings: &str, tracker: Option<&str>, arguments: &[&str]) -> Ran {
    let mut command = Command::new(path);
    command.args(arguments).env_remove("ALLOC_TRACKER").env("_RJEM_MALLOC_CONF", settings);
    command.envs(tracker.map(|value| ("ALLOC_TRACKER", value)));
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(0), "{path}: {}", ran.stderr);
    ran
}

fn story(path: &str, tracker: Option<&str>) -> String {
    told(path, "tcache:false", tracker, &[]).stdout
}

/// The number behind `words` in the story.
fn number(story: &str, words: &str) -> u64 {
    let (_, rest) = story.split_once(words).unwrap_or_else(|| panic!("no {words:?} in\n{story}"));
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no number behind {words:?} in\n{story}"))
}

/// Bytes in use, blocks made and given back in every size class, usable sizes, the places of blocks in their pages,
/// alignment, and how many reallocs stayed where they were.
#[test]
fn a_tracked_heap_is_the_heap_of_plain_jemalloc() {
    let plain = story(PLAIN, None);
    assert_eq!(story(TRACKED, None), plain, "tracked (left), plain jemalloc (right)");
    assert_eq!(story(TRACKED, Some("off")), plain, "tracking off (left), plain jemalloc (right)");
}

/// What the comparison above stands on: the story has small and large blocks and moves and grows them.
#[test]
fn the_story_is_worth_telling() {
    let story = story(TRACKED, None);
    assert_eq!(number(&story, "misaligned"), 0, "{story}");
    let (reallocs, in_place) = (number(&story, "reallocs"), number(&story, "of them in place"));
    assert!(reallocs > 50_000 && in_place > 5_000 && in_place < reallocs, "{story}");
    // 6 blocks grow 40 times.
    assert_eq!(number(&story, "large reallocs"), 240, "{story}");
    let classes = story.lines().filter(|line| line.starts_with("at the height: class")).count();
    assert!(classes > 50, "{story}");
    // The story frees all that it made.
    assert!(story.contains("at the end: allocated 0\n"), "{story}");
}

/// "Plain jemalloc of the same configuration", which the benchmark divides by, has all of jemalloc's options as the
/// tracker has them.
#[test]
fn the_plain_programs_run_jemalloc_as_the_tracker_sets_it() {
    let options = |path: &str, arguments: &[&str]| -> Vec<String> {
        let said = told(path, "stats_print:true", None, arguments).stderr;
        let option = |line: &&str| line.trim_start().starts_with("opt.") || line.contains("malloc_conf");
        said.lines().filter(option).map(str::to_owned).collect()
    };
    let tracked = options(env!("CARGO_BIN_EXE_churn-tracked"), &["1000", "1"]);
    assert!(tracked.iter().any(|line| line.trim_start().starts_with("opt.dirty_decay_ms:")), "{tracked:?}");
    assert_eq!(options(env!("CARGO_BIN_EXE_churn-jemalloc"), &["1000", "1"]), tracked);
    assert_eq!(options(env!("CARGO_BIN_EXE_json-tracked"), &["1"]), tracked);
    assert_eq!(options(env!("CARGO_BIN_EXE_json-jemalloc"), &["1"]), tracked);
}
