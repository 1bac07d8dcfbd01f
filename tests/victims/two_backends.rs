//! Both doors, with different allocators under them. The tracker cannot tell a block's usable size then, so no session
//! starts. The program runs all the same.
use std::alloc::System;

use alloc_interpose as _;
use alloc_tracker::{Over, Session, SessionError};

#[global_allocator]
static ALLOC: Over<System> = Over::new(System);

fn main() {
    let path = std::env::args().nth(1).expect("the timeline's path");
    match Session::builder().output(path).start() {
        Err(SessionError::TwoBackends { allocator }) => println!("refused: {allocator}"),
        other => println!("{other:?}"),
    }
    let mut numbers: Vec<u64> = (0..10_000).collect();
    numbers.shrink_to_fit();
    // SAFETY: malloc accepts every size, and free what it gave.
    unsafe { libc::free(libc::malloc(1_000)) };
    println!("sum: {}", numbers.iter().sum::<u64>());
}
