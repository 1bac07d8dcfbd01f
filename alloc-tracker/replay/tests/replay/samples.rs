//! Samples: who allocates, by stack and by thread.
use alloc_replay::{Event, SiteRow, ThreadRow};
use alloc_timeline::SiteSums;

use crate::program::{CONV1, CONV2, Program};

/// Each stack is one of another thread, with the stack's number.
fn sampled(scope: u16, address: u64, bytes: u64, weight: u64, stack: u32) -> Event {
    let (cut, fresh, followed) = (stack == 7, true, true);
    Event::Sampled { scope, address, bytes, weight, stack, cut, fresh, followed, thread: stack }
}

/// A block of 600 bytes stands for 1,000 of stack 7, one of 400 for 1,200 of stack 8. The first is gone after the peak,
/// the second stays to the end of the step.
#[test]
fn stacks_and_threads_have_the_bytes_that_their_samples_stand_for() {
    let mut program = Program::new();
    program.event(Event::StepBegan);
    program.event(sampled(CONV1, 0x1000, 600, 1_000, 7)).allocate(CONV1, 0x1000, 600);
    program.event(sampled(CONV2, 0x2000, 400, 1_200, 8)).allocate(CONV2, 0x2000, 400);
    program.event(Event::SampleFreed { address: 0x1000 }).free(CONV1, 0x1000, 600);
    program.event(Event::ThreadEnded { thread: 8, name: *b"loader\0\0\0\0\0\0\0\0\0\0" });
    program.event(Event::StepEnded);
    let table = program.replay.site_table();
    assert_eq!((table.counts.taken, table.counts.cut, table.counts.not_followed), (2, 1, 0));
    let gone = SiteSums {
        samples: 1,
        allocated_bytes: 1_000,
        // The root of 1,000 * (1,000 - 600).
        error_bytes: 632,
        // 1,000 bytes in blocks of 600 are 1.667 blocks.
        allocated_blocks: 2,
        peak_bytes: 1_000,
        exit_bytes: 0,
        exit_samples: 0,
    };
    let stays = SiteSums {
        samples: 1,
        allocated_bytes: 1_200,
        // The root of 1,200 * (1,200 - 400).
        error_bytes: 980,
        allocated_blocks: 3,
        peak_bytes: 1_200,
        exit_bytes: 1_200,
        exit_samples: 1,
    };
    let row = |stack, scope, sums| SiteRow { stack, scope, sums };
    assert_eq!(table.sites, [row(7, CONV1, gone), row(8, CONV2, stays)]);
    let thread = |number, name: Option<&str>, sums| ThreadRow { number, name: name.map(str::to_owned), sums };
    assert_eq!(table.threads.threads, [thread(7, None, gone), thread(8, Some("loader"), stays)]);
    assert_eq!(table.threads.others, SiteSums::default());
    assert_eq!((table.growth.steps, table.growth.live_bytes), (vec![1], vec![1_200]));
}
