//! Libraries that come and go, throw, and hand over blocks that are not ours.
use crate::compiled::{library, throwing};
use crate::counts::came_to_nothing;
use crate::run::{ALONE, all_modes, run, with_session};

#[test]
fn come_and_go() {
    let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-library"), &[library()]);
    // Four blocks in each of the fifty rounds in which the library is bound to libc.
    assert_eq!(timeline.tracker.foreign_frees, 4 * 50);
}

/// With `ALLOC_TRACKER=off` a stranger's block goes to jemalloc, as it would without the tracker: not run.
#[test]
fn are_counted_and_handed_on() {
    let path = env!("CARGO_BIN_EXE_victim-trap-strangers");
    // A realloc and a free of what comes of it are two.
    for (trick, foreign) in [("free", 1), ("realloc", 2), ("zero", 1)] {
        run(path, ALONE, &[trick], &[]).passed();
        let (_, timeline) = with_session(path, &[trick]);
        assert_eq!(timeline.tracker.foreign_frees, foreign, "{trick}");
    }
}

/// What an exception passes on its way is dropped: the scope that it leaves, and what was allocated in it.
#[test]
fn that_throw_leave_the_scope() {
    let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-exception"), &[throwing()]);
    came_to_nothing(&timeline, "thrown through");
    assert_eq!(timeline.tracker.foreign_frees, 0);
}

/// Of the blocks from before `main` none is taken for a stranger.
#[test]
fn that_have_not_begun_and_that_are_asked_in_vain() {
    let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-early"), &[]);
    assert_eq!(timeline.tracker.foreign_frees, 0);
}
