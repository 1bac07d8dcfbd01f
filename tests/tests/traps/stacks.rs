//! Stacks at which an unwinder could fail.
use crate::counts::came_to_nothing;
use crate::run::{STACKS, all_modes, run};

const TRAP: &str = env!("CARGO_BIN_EXE_victim-trap-stacks");

#[test]
fn stacks_that_are_none() {
    let (_, timeline) = all_modes(TRAP, &[]);
    came_to_nothing(&timeline, "odd stack");
}

/// Samples were taken on all of these stacks, and no sample has more calls than its stack had.
#[test]
fn they_are_sampled() {
    let stacks = run(TRAP, STACKS, &[], &[]).passed().timeline().stacks.expect("stacks");
    assert!(stacks.complete);
    assert_eq!((stacks.samples.lost, stacks.samples.not_followed), (0, 0));
    let scopeless = stacks.sites.iter().filter(|site| site.calls.is_empty()).map(|site| site.sums.samples).sum::<u64>();
    assert_eq!(stacks.samples.without_calls, scopeless);
    // The trap makes and resizes 16 times 200 blocks, most of them larger than the mean.
    assert!(stacks.samples.taken > 4_000, "{:?}", stacks.samples);
    // The same calls are the same stack, however often they are sampled, without optimisation too.
    assert!(stacks.sites.len() < 30, "{} stacks", stacks.sites.len());
    assert_eq!(stacks.samples.without_calls, 0);
    let deep = stacks.sites.iter().filter(|site| site.cut && site.calls.len() > 150);
    assert!(deep.map(|site| site.sums.samples).sum::<u64>() > 200, "the recursion");
}
