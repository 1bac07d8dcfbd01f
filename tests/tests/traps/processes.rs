//! fork, vfork and posix_spawn in programs of several threads.
use std::sync::LazyLock;

use alloc_timeline::Timeline;

use crate::counts::{came_to_nothing, consistent, did, held};
use crate::run::{Ended, all_modes};

const FORK: &str = env!("CARGO_BIN_EXE_victim-trap-fork");

fn forks(trick: &str) -> (Ended, Timeline) {
    let (ended, timeline) = all_modes(FORK, &[trick]);
    came_to_nothing(&timeline, "workers");
    assert_eq!(timeline.tracker.foreign_frees, Some(0));
    (ended, timeline)
}

#[test]
fn handlers_of_fork_that_allocate() {
    forks("atfork");
}

/// The children leave nothing in the parent's folder: it has the parent's timeline, and its log was removed.
#[test]
fn children() {
    let (ended, _) = forks("children");
    assert!(!ended.log().exists());
}

/// The run in which children record themselves, and their timelines.
fn recorded() -> &'static (Timeline, Vec<Timeline>) {
    static RECORDED: LazyLock<(Timeline, Vec<Timeline>)> = LazyLock::new(|| {
        let (ended, timeline) = forks("own");
        let files = std::fs::read_dir(ended.folder.path()).expect("the folder");
        let children = files
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.to_string_lossy().contains(".child-"))
            .map(|path| alloc_timeline::load(&path).expect("a child's timeline"))
            .collect();
        (timeline, children)
    });
    &RECORDED
}

/// A child's file has the child's own phase; the parent's has none.
#[test]
fn children_that_record_themselves() {
    let (parent, children) = recorded();
    assert_eq!(did(parent, "child"), (0, 0, 0));
    came_to_nothing(parent, "inherited");
    assert_eq!(children.len(), 5);
    for child in children {
        consistent(child);
        assert_eq!(
            held(child, &child.at_exit.as_ref().expect("an end").snapshot, "child"),
            (55_000, 5_120 + 53_248, 2)
        );
        assert!(child.peak.live_bytes < parent.peak.live_bytes + (64 << 20), "{}", child.peak.live_bytes);
    }
}

/// A child's blocks are its parent's to begin with, and said to be. In the phase `inherited` there are a hundred of 1,000 (1,024 usable) and one of 1 MiB.
#[test]
fn children_know_what_they_inherited() {
    for child in &recorded().1 {
        let exit = &child.at_exit.as_ref().expect("an end").snapshot;
        assert_eq!(held(child, exit, "inherited (inherited)"), (100_000 + (1 << 20), 102_400 + (1 << 20), 101));
    }
}

#[test]
fn an_orphan() {
    forks("orphan");
}

/// These programs begin with exec: they are not tracked and write no timeline.
#[test]
fn other_programs() {
    let (ended, _) = forks("programs");
    let files = std::fs::read_dir(ended.folder.path()).expect("the folder");
    let mut names: Vec<_> = files.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    assert_eq!(names, ["stderr", "stdout", "trap.timeline.json"]);
}
