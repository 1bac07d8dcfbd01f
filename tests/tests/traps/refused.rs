//! Memory that the kernel refuses to the tracker itself.
use alloc_timeline::Ending;

use crate::counts::{came_to_nothing, sums_hold};
use crate::run::{MODES, OFF, STACKS, SYSTEM, run};

/// Blocks without a tag are not counted, and the timeline says how many there were. Those that have a tag are, to the last one. (Not with a
/// stack of every few kilobytes: a recorder of those may need more than the limit leaves. Nor over the C library's allocator, for the
/// reason below; its heap would grow where it was, besides.)
#[test]
fn memory_for_tags() {
    for &mode in MODES.iter().filter(|mode| ![STACKS, SYSTEM].contains(mode)) {
        let ended = run(env!("CARGO_BIN_EXE_victim-trap-refused"), mode, &[], &[]).passed();
        if mode == OFF {
            // Nobody tags.
            continue;
        }
        let untagged = ended.numbers("untagged")[0];
        assert!(untagged > 3_000, "{}: {untagged}", ended.what);
        if mode.records() {
            let timeline = ended.timeline();
            sums_hold(&timeline);
            assert!(timeline.tracker.dropped_events >= Some(untagged), "{:?}", timeline.tracker.dropped_events);
            came_to_nothing(&timeline, "beyond the limit");
        }
    }
}

/// The recorder has memory of its own to go on with. (Not over the C library's allocator, which cannot keep any apart: there the
/// recorder's need may end the process.)
#[test]
fn memory_for_the_recorder() {
    for &mode in MODES.iter().filter(|&&mode| mode != SYSTEM) {
        let ended = run(env!("CARGO_BIN_EXE_victim-trap-exhausted"), mode, &[], &[]).passed();
        if mode.records() {
            let timeline = ended.timeline();
            sums_hold(&timeline);
            assert_eq!(timeline.ending, Ending::Finished, "{}", ended.what);
            came_to_nothing(&timeline, "all there is");
        }
    }
}
