//! Steps: each with a peak of its own, and what grows from one to the next.
use alloc_replay::Event;
use alloc_timeline::{Record, RetainedAt, Step};

use crate::program::{CONV1, CONV2, Program, names};

fn steps(program: &mut Program) -> Vec<Step> {
    let step = |record| if let Record::Step(step) = record { Some(step) } else { None };
    program.replay.take_records(0).into_iter().filter_map(step).collect()
}

/// 100 bytes are there throughout. The first step allocates 300 more, the second, higher peak of which is not the
/// session's, 200. Events 2 and 5 begin the steps, event 8 ends the second.
#[test]
fn two_steps_have_their_own_peaks() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 100);
    program.event(Event::StepBegan).allocate(CONV1, 0x2000, 300).free(CONV1, 0x2000, 300);
    program.event(Event::StepBegan).allocate(CONV2, 0x2000, 150).allocate(CONV2, 0x3000, 50);
    program.event(Event::StepEnded).event(Event::StepEnded);
    let steps = steps(&mut program);
    let numbers = |step: &Step| (step.index, step.start_ns, step.end_ns, step.peak_ns, step.live_bytes);
    assert_eq!(
        steps.iter().map(numbers).collect::<Vec<_>>(),
        [(1, 2_000, 5_000, 3_000, 400), (2, 5_000, 8_000, 7_000, 300)]
    );
    assert_eq!(steps[0].by_category["activation"], 400);
    assert_eq!(
        (steps[0].end_live_bytes, steps[0].requested_bytes, steps[0].end_requested_bytes),
        (100, Some(380), Some(90))
    );
    assert_eq!(
        (steps[1].end_live_bytes, steps[1].requested_bytes, steps[1].end_requested_bytes),
        (300, Some(270), Some(270))
    );
    assert_eq!((program.peak().live_bytes, program.peak().time_ns), (400, 3_000));
}

/// Each step leaves 10 bytes more in conv1; conv2 comes and goes; 1,000 bytes never change.
#[test]
fn a_leak_grows_over_three_steps() {
    let mut program = Program::new();
    program.allocate(CONV2, 0x1000, 1_000);
    for step in 1..=3 {
        program.event(Event::StepBegan).allocate(CONV1, 0x10_000 * step, 10);
        program.allocate(CONV1, 0x2000, 500).free(CONV1, 0x2000, 500);
    }
    program.event(Event::StepEnded);
    let growth = program.replay.analysis(program.now(), &program.counts).growth;
    assert_eq!((growth.steps, growth.live_bytes), (vec![1, 2, 3], vec![1_010, 1_020, 1_030]));
    assert_eq!(growth.owners.len(), 1, "what never changes has no column");
    assert_eq!((growth.owners[0].scope, &growth.owners[0].live_bytes), (u32::from(CONV1), &vec![10, 20, 30]));
    assert_eq!(growth.other_bytes, [1_000; 3]);
}

/// conv1 peaks at 400 in the forward phase, keeps 100 when the phase is left, and frees that later.
#[test]
fn what_a_phase_retains_is_what_was_left_when_it_was_left() {
    let mut program = Program::new();
    let forward = names().name("forward");
    program.allocate(CONV1, 0x1000, 100).allocate(CONV1, 0x2000, 300).free(CONV1, 0x2000, 300);
    let figures = |program: &Program| {
        let all = program.replay.analysis(program.now(), &program.counts).figures;
        let place = |phase: &Option<String>| phase.as_deref() == Some("forward");
        let figures = all.into_iter().find(|figures| place(&figures.phase) && figures.layer.is_none());
        figures.expect("the phase has figures")
    };
    assert_eq!((figures(&program).retained_bytes, figures(&program).retained_at), (100, RetainedAt::Now));
    program.event(Event::PhaseLeft { phase: forward }).free(CONV1, 0x1000, 100);
    let figures = figures(&program);
    assert_eq!((figures.retained_bytes, figures.retained_at), (100, RetainedAt::PhaseEnd));
    assert_eq!((figures.peak_bytes, figures.peak_requested_bytes, figures.peak_ns), (400, 380, 2_000));
    assert_eq!((figures.process_bytes, figures.process_by_category["activation"]), (400, 400));
    assert_eq!((figures.process_by_phase["forward"], figures.largest_block_bytes), (400, 300));
}
