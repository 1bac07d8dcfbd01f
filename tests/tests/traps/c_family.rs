//! C's malloc family: what each function must return, and what the tracker must count.
use crate::counts::{came_to_nothing, did, held};
use crate::run::{ALONE, Ended, MODES, OFF, all_modes, run, with_session};
use tests::tables;

#[test]
fn semantics() {
    let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-c-semantics"), &[]);
    came_to_nothing(&timeline, "checks");
    came_to_nothing(&timeline, "failing");
    assert_eq!(timeline.tracker.foreign_frees, Some(0));
    // A realloc that failed leaves the block counted: its requested bytes are there, once.
    for size in [5, 1_000, 50_000, 20 << 20] {
        let (requested, usable, blocks) = held(&timeline, tables(&timeline, &format!("failed {size}"))[0], "failing");
        assert_eq!((requested, blocks), (size, 1));
        assert!(usable >= size);
    }
}

#[test]
fn errno() {
    let path = env!("CARGO_BIN_EXE_victim-c-errno");
    let (_, timeline) = all_modes(path, &[]);
    assert_eq!(timeline.tracker.foreign_frees, Some(0));
    // Every freed page goes back at once.
    let eager = [("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")];
    MODES.iter().for_each(|&mode| drop(run(path, mode, &[], &eager).passed()));
}

#[test]
fn sizes() {
    let (ended, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-c-sizes"), &[]);
    for phase in ["one by one", "all at once", "resized", "layouts"] {
        came_to_nothing(&timeline, phase);
    }
    assert_eq!(did(&timeline, "one by one").0, 40_000);
    assert_eq!(did(&timeline, "all at once").0, 20_000);
    assert_eq!(did(&timeline, "resized").0, 1);
    // The requested bytes are the sum of 1 to 20,000; the program itself adds up the usable bytes by
    // malloc_usable_size.
    let table = tables(&timeline, "all live")[0];
    assert_eq!(held(&timeline, table, "all at once"), (200_010_000, ended.numbers("usable")[0], 20_000));
}

#[test]
fn pages() {
    let path = env!("CARGO_BIN_EXE_victim-c-pages");
    let moves = |ended: &Ended| -> Vec<String> {
        ended.stdout.lines().filter(|line| line.starts_with("moves")).map(str::to_owned).collect()
    };
    let (tracked, off) = (run(path, ALONE, &[], &[]).passed(), run(path, OFF, &[], &[]).passed());
    assert_eq!(moves(&tracked), moves(&off), "blocks grow in place as they would untracked");
    let (_, timeline) = with_session(path, &[]);
    let (requested, usable, blocks) = held(&timeline, tables(&timeline, "six live")[0], "six");
    assert_eq!((requested, blocks), ((6 << 30) + 5, 1));
    assert_eq!(usable, (6 << 30) + 4096);
    assert_eq!(did(&timeline, "beyond 2 TB"), (513, 513, 513 << 32));
    assert!(timeline.totals.allocated_bytes > 2 << 40);
    assert!(timeline.peak.live_bytes >= 6 << 30 && timeline.peak.live_bytes < (6 << 30) + (256 << 20));
    for phase in ["zeroed", "six"] {
        came_to_nothing(&timeline, phase);
    }
}
