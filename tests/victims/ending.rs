//! Ends a recorded run in the way that the second argument names, after a Vec of 1,000,000 bytes was made in `forward`.
use std::hint::black_box;

use alloc_interpose as _;
use alloc_tracker::{Session, phase};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn main() {
    let path = std::env::args().nth(1).expect("the timeline's path");
    let ending = std::env::args().nth(2).expect("how to end");
    let session = Session::builder().output(path).start().expect("a session");
    let _held = {
        let _phase = phase!("forward");
        black_box(vec![1u8; 1_000_000])
    };
    match ending.as_str() {
        "finish" => drop(session.finish().expect("the timeline")),
        "drop" => drop(session),
        "return" => {}
        "panic" => panic!("as asked for"),
        "exit" => std::process::exit(7),
        "leak" => std::mem::forget(session),
        other => panic!("no such ending: {other}"),
    }
}
