//! Libraries that are loaded and unloaded, throw exceptions, and hand over foreign blocks.
use crate::compiled::{library, throwing};
use crate::counts::came_to_nothing;
use crate::run::{ALONE, all_modes, run, with_session};

#[test]
fn come_and_go() {
    let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-library"), &[library()]);
    // Four blocks in each of the fifty rounds in which the library is bound to libc.
    assert_eq!(timeline.tracker.foreign_frees, Some(4 * 50));
}

/// With `ALLOC_TRACKER=off` a foreign block goes to jemalloc, as it would without the tracker; so that mode is not run.
#[test]
fn are_counted_and_handed_on() {
    let path = env!("CARGO_BIN_EXE_victim-trap-strangers");
    // A realloc of a foreign block and a free of the resized block count as two.
    for (trick, foreign) in [("free", 1), ("realloc", 2), ("zero", 1)] {
        run(path, ALONE, &[trick], &[]).passed();
        let (_, timeline) = with_session(path, &[trick]);
        assert_eq!(timeline.tracker.foreign_frees, Some(foreign), "{trick}");
    }
}

/// An exception drops what is in the frames that it passes: the guard of the scope, and the blocks that were allocated
/// in it.
#[test]
fn that_throw_leave_the_scope() {
    let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-exception"), &[throwing()]);
    came_to_nothing(&timeline, "thrown through");
    assert_eq!(timeline.tracker.foreign_frees, Some(0));
}

/// No block from before `main` counts as foreign.
#[test]
fn that_have_not_begun_and_that_are_asked_in_vain() {
    let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-early"), &[]);
    assert_eq!(timeline.tracker.foreign_frees, Some(0));
}
