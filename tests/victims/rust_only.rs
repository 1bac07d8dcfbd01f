//! The tracker as global allocator and no C door: a Vec of 500,000 bytes, which is seen, and a malloc of 1,000,000,
//! which is not.
use std::hint::black_box;

use alloc_tracker::{Session, phase};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn main() {
    let path = std::env::args().nth(1).expect("the timeline's path");
    let session = Session::builder().output(path).start().expect("a session");
    let (ours, theirs) = {
        let _phase = phase!("data");
        // SAFETY: malloc accepts every size.
        (black_box(vec![1u8; 500_000]), black_box(unsafe { libc::malloc(1_000_000) }))
    };
    session.snapshot("both made");
    drop(ours);
    // SAFETY: `theirs` is live, came from malloc, and is not used again.
    unsafe { libc::free(theirs) };
    session.finish().expect("the timeline");
}
