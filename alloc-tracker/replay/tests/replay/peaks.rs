//! The peaks: who owned them, and what is learnt about them later.
use alloc_replay::{Event, Extremes, SessionPeak};
use alloc_timeline::{Category, Dimension, Record};

use crate::program::{CONV1, CONV2, FORWARD, Program, rows, size};

#[test]
fn a_peak_is_owned_by_two_layers() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 600).allocate(CONV2, 0x2000, 400).free(CONV1, 0x1000, 600);
    program.allocate(CONV2, 0x1000, 100);
    let peak = program.peak();
    assert_eq!((peak.live_bytes, peak.requested_bytes, peak.time_ns), (1_000, 980, 2_000));
    assert_eq!(rows(&peak), [(CONV1, Category::Activation, 600, 1), (CONV2, Category::Activation, 400, 1)]);
    assert_eq!(program.replay.session_peak(), SessionPeak { event: 2, live_bytes: 1_000 });
    assert_eq!(rows(&program.live()), [(CONV2, Category::Activation, 500, 2)]);
    assert_eq!(program.replay.live_sums().usable_bytes, 500);
    let requested = program.replay.peak_requested();
    assert_eq!((requested.bytes, requested.blocks, requested.time_ns), (980, 2, 2_000));
    // conv2 held the most at the end, 500 of 500; the whole phase when the process did.
    let water = |dimension, name: &str| {
        let waters = program.replay.high_waters();
        let water = waters.into_iter().find(|water| water.dimension == dimension && water.name == name);
        water.map(|water| (water.live_bytes, water.process_live_bytes, water.time_ns))
    };
    assert_eq!(water(Dimension::Layer, "conv2"), Some((500, 500, 4_000)));
    assert_eq!(water(Dimension::Phase, "forward"), Some((1_000, 1_000, 2_000)));
}

/// What is allocated and freed in one call of an operator is workspace. That is known at the free, after the peak.
#[test]
fn workspace_that_is_found_at_its_free_is_workspace_in_the_peak() {
    let mut program = Program::new();
    program.allocate_in_call(CONV1, 0x1000, 300, 7).allocate_in_call(CONV1, 0x2000, 200, 7);
    assert_eq!(rows(&program.peak()), [(CONV1, Category::Activation, 500, 2)]);
    program.free_in_call(CONV1, 0x1000, 300, 7).free_in_call(CONV1, 0x2000, 200, 8);
    assert_eq!(
        rows(&program.peak()),
        [(CONV1, Category::Activation, 200, 1), (CONV1, Category::Workspace, 300, 1)],
        "the second block outlived the call that made it"
    );
    assert_eq!((program.replay.take_peak_amended(), program.replay.take_peak_amended()), (true, false));
    assert_eq!(program.live().rows, []);
}

#[test]
fn a_label_counts_at_the_peak_as_well() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 300).allocate(CONV1, 0x2000, 200).free(CONV1, 0x2000, 200);
    program.label(CONV1, 0x1000, Category::Parameter);
    let peak = [(CONV1, Category::Parameter, 300, 1), (CONV1, Category::Activation, 200, 1)];
    assert_eq!(rows(&program.peak()), peak);
    assert_eq!(rows(&program.live()), [(CONV1, Category::Parameter, 300, 1)]);
    assert!(program.replay.take_peak_amended());
}

/// At the peak the block had another size; how much of it should move is not known.
#[test]
fn a_block_that_was_resized_after_the_peak_stays_what_it_was_there() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 300).resize(CONV1, (0x1000, 300), (Some(0x3000), 100));
    program.label(CONV1, 0x3000, Category::Parameter);
    assert_eq!(rows(&program.peak()), [(CONV1, Category::Activation, 300, 1)]);
    assert_eq!(rows(&program.live()), [(CONV1, Category::Parameter, 100, 1)]);
    assert!(!program.replay.take_peak_amended());
}

#[test]
fn nothing_is_a_peak_in_a_pause() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 100).event(Event::Paused).event(Event::Paused);
    program.allocate(CONV1, 0x2000, 900);
    assert!(program.replay.is_paused());
    assert_eq!(program.replay.take_sample(program.number, Vec::new()), None);
    program.free(CONV1, 0x2000, 900).allocate(CONV2, 0x2000, 30).event(Event::Resumed);
    assert_eq!((program.peak().live_bytes, program.replay.peak_requested().bytes), (100, 90));
    let sample = program.replay.take_sample(7, Vec::new()).expect("the pause is over");
    assert_eq!((sample.live_bytes, sample.requested_bytes, sample.high_bytes), (130, 110, 130));
    let expected = [(u32::from(CONV1), Category::Activation, 100), (u32::from(CONV2), Category::Activation, 30)];
    assert_eq!(sample.rows, expected);
    let marks: Vec<(String, u64)> = (program.replay.take_records(0).into_iter())
        .map(|record| match record {
            Record::Mark(mark) => (mark.name, mark.live_bytes),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(marks, [("paused".to_owned(), 100), ("resumed".to_owned(), 130)], "the second pause is none");
}

#[test]
fn a_sample_says_what_changed() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 100).allocate(CONV2, 0x2000, 200).free(CONV2, 0x2000, 200);
    let sample = program.replay.take_sample(3, Vec::new()).expect("no pause");
    assert_eq!((sample.time_ns, sample.live_bytes, sample.high_bytes), (3, 100, 300));
    assert_eq!(sample.rows, [(u32::from(CONV1), Category::Activation, 100)], "conv2 has what it had: nothing");
    program.free(CONV1, 0x1000, 100);
    let sample = program.replay.take_sample(4, Vec::new()).expect("no pause");
    assert_eq!((sample.live_bytes, sample.high_bytes), (0, 100));
    assert_eq!(sample.rows, [(u32::from(CONV1), Category::Activation, 0)]);
}

#[test]
fn extremes_are_those_since_the_last_look() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 100).allocate(CONV1, 0x2000, 200).free(CONV1, 0x1000, 100);
    let seen = Extremes { high: 300, low: 0, live: 200, time_ns: 5, ..Extremes::default() };
    assert_eq!(program.replay.take_extremes(5), seen);
    program.event(Event::StepBegan).allocate(CONV1, 0x1000, 50);
    let seen = Extremes { high: 250, low: 200, live: 250, step: Some((1, 250)), time_ns: 6, ..Extremes::default() };
    assert_eq!(program.replay.take_extremes(6), seen);
    program.event(Event::StepEnded).free(CONV1, 0x2000, 200);
    let seen = Extremes { high: 250, low: 50, live: 50, last_step_peak: Some(250), time_ns: 7, ..Extremes::default() };
    assert_eq!(program.replay.take_extremes(7), seen);
}

/// Batches are of the scope's base category: operators leave metadata, everything else is something other.
#[test]
fn batches_belong_to_the_base_category() {
    let mut program = Program::new();
    let counts = alloc_replay::Counts::allocation(size(64));
    for scope in [FORWARD, crate::program::CONV1_OP, alloc_replay::RUNTIME] {
        program.event(Event::Batch { scope, counts });
    }
    let expected = [
        (alloc_replay::RUNTIME, Category::Runtime, 64, 1),
        (FORWARD, Category::Other, 64, 1),
        (crate::program::CONV1_OP, Category::Metadata, 64, 1),
    ];
    assert_eq!(rows(&program.live()), expected);
}
