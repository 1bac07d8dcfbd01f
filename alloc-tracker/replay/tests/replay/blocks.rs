//! Followed blocks: sizes, owners, and what became of them.
use alloc_replay::{Counts, Event, RUNTIME};
use alloc_timeline::{Category, Fate, Flow};

use crate::program::{CONV1, CONV1_BACKWARD, CONV2, Program, rows, size};

/// From, to, fate, usable bytes and blocks of each flow, places as `PHASE/LAYER`.
fn flows(program: &Program) -> Vec<(String, Option<String>, Fate, u64, u64)> {
    let analysis = program.replay.analysis(program.now(), &program.counts);
    let place = |place: &alloc_timeline::Place| format!("{}/{}", place.phase, place.layer);
    let flow = |flow: &Flow| {
        let from = flow.from.as_ref().map(place).expect("no rest");
        (from, flow.to.as_ref().map(place), flow.fate, flow.usable_bytes, flow.blocks)
    };
    analysis.flows.iter().map(flow).collect()
}

#[test]
fn a_realloc_that_shrinks_gives_bytes_back() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 1_000).resize(CONV1, (0x1000, 1_000), (Some(0x3000), 400));
    assert_eq!((program.peak().live_bytes, program.live().live_bytes), (1_000, 400));
    let counts = program.counts[usize::from(CONV1)];
    assert_eq!((counts.allocated, counts.freed, counts.allocations, counts.frees), (1_000, 600, 1, 0));
    assert_eq!((counts.live(), counts.live_requested()), (400, 390));
    let coverage = program.replay.analysis(0, &program.counts).coverage;
    assert_eq!((coverage.blocks, coverage.bytes, coverage.shrunk_bytes), (1, 1_000, 600));
    program.free(CONV1, 0x3000, 400);
    assert_eq!((program.live().rows.len(), program.counts[usize::from(CONV1)].live()), (0, 0));
    let histograms = program.replay.analysis(0, &program.counts).histograms;
    let sizes: Vec<(u64, u64)> = histograms[0].sizes.iter().map(|size| (size.from, size.sums.usable_bytes)).collect();
    assert_eq!((histograms.len(), sizes), (1, vec![(256, 400)]), "a block counts with its last size");
    let lifetimes: Vec<u64> = histograms[0].lifetimes.iter().map(|lifetime| lifetime.from).collect();
    assert_eq!(lifetimes, [2_048], "from 1,000 to 4,000 ns");
}

/// A batch counts what was in it; a block that goes on in batches is taken from those that are followed.
#[test]
fn a_block_that_is_no_longer_followed_is_counted_once() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 1_000).resize(CONV1, (0x1000, 1_000), (None, 400));
    assert_eq!(program.live().live_bytes, 0, "the batch that has it is still to come");
    assert_eq!(program.counts[usize::from(CONV1)], Counts { allocations: 1, moved_in: u64::MAX, ..Counts::default() });
    let coverage = program.replay.analysis(0, &program.counts).coverage;
    assert_eq!((coverage.blocks, coverage.bytes), (0, 0));
    program.event(Event::Batch { scope: CONV1, counts: Counts::take_over(size(400)) });
    assert_eq!(rows(&program.live()), [(CONV1, Category::Other, 400, 1)]);
    assert_eq!(program.counts[usize::from(CONV1)].live_blocks(), 1);
}

#[test]
fn a_label_with_another_scope_hands_the_block_over() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 300).allocate(CONV1, 0x2000, 50).label(CONV2, 0x1000, Category::Gradient);
    let expected = [(CONV1, Category::Activation, 50, 1), (CONV2, Category::Gradient, 300, 1)];
    assert_eq!((rows(&program.live()), rows(&program.peak())), (expected.to_vec(), expected.to_vec()));
    let counts = |scope: u16| program.counts[usize::from(scope)];
    assert_eq!((counts(CONV1).live(), counts(CONV1).live_blocks(), counts(CONV1).allocations), (50, 1, 2));
    assert_eq!((counts(CONV2).live(), counts(CONV2).live_blocks(), counts(CONV2).allocations), (300, 1, 0));
    // Its new owner is charged when it is freed, whatever the tag said.
    program.free(CONV1, 0x1000, 300);
    assert_eq!((program.counts[usize::from(CONV2)].live(), program.counts[usize::from(CONV2)].frees), (0, 1));
    assert_eq!(rows(&program.live()), [(CONV1, Category::Activation, 50, 1)]);
    program.label(CONV2, 0x9000, Category::Gradient);
    assert_eq!(program.live().rows.len(), 1, "nothing is followed there");
}

#[test]
fn a_block_that_is_freed_in_another_layer_is_a_flow() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 100).free_in(CONV1, 0x1000, 100, CONV1);
    program.allocate(CONV1, 0x1000, 200).free_in(CONV1, 0x1000, 200, CONV1_BACKWARD);
    program.allocate(CONV1, 0x1000, 400).event(Event::Freed {
        scope: CONV1,
        address: 0x1000,
        size: size(400),
        op_call: 0,
        freed_in: None,
    });
    program.allocate(CONV1, 0x1000, 800).event(Event::StepBegan).free_in(CONV1, 0x1000, 800, CONV1);
    program.allocate(CONV2, 0x2000, 1_600);
    let [conv1, conv2] = ["forward/conv1", "forward/conv2"].map(str::to_owned);
    let expected = [
        (conv1.clone(), Some(conv1.clone()), Fate::Temporary, 100, 1),
        // In a later step than it was allocated in; then where it was freed is not known; then in the backward pass.
        (conv1.clone(), Some(conv1.clone()), Fate::Freed, 800, 1),
        (conv1.clone(), None, Fate::Freed, 400, 1),
        (conv1, Some("backward/conv1".to_owned()), Fate::Freed, 200, 1),
        (conv2, None, Fate::Held, 1_600, 1),
    ];
    assert_eq!(flows(&program), expected);
}

#[test]
fn a_block_at_the_address_of_another_ends_that_one() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 100).allocate(CONV2, 0x1000, 200);
    assert_eq!(rows(&program.live()), [(CONV2, Category::Activation, 200, 1)]);
    assert_eq!(flows(&program)[0], ("forward/conv1".to_owned(), None, Fate::Freed, 100, 1));
}

/// 500 bytes in two blocks are there when the recording begins. One is freed: it is in no flow, but counted.
#[test]
fn blocks_of_before_the_recording_are_known_by_their_scope_alone() {
    let mut program = Program::new();
    let mut before = Counts::allocation(size(300));
    before += Counts::allocation(size(200));
    let counts_before = move |scope| if scope == RUNTIME { before } else { Counts::default() };
    program.counts[usize::from(RUNTIME)] = before;
    program.replay.reconcile_at_start(counts_before, 1);
    assert_eq!(rows(&program.live()), [(RUNTIME, Category::Runtime, 500, 2)]);
    assert_eq!(program.replay.session_peak().event, 0);
    program.free(RUNTIME, 0x1000, 300).allocate(CONV1, 0x1000, 100);
    assert_eq!(rows(&program.live()), [(RUNTIME, Category::Runtime, 200, 1), (CONV1, Category::Activation, 100, 1)]);
    assert_eq!(flows(&program).len(), 1);
    let coverage = program.replay.analysis(0, &program.counts).coverage;
    assert_eq!((coverage.blocks, coverage.all_blocks, coverage.all_bytes), (1, 3, 600));
    assert_eq!(program.peak().live_bytes, 500);
}
