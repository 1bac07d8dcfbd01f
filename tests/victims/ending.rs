//! Ends a recorded run in the way that the second argument names, after a Vec of 1,000,000 bytes was made in `forward`.
use std::hint::black_box;

use alloc_interpose as _;
use alloc_tracker::{Session, phase};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// Large blocks, of which each is an event, until a signal's handler calls `exit(22)`.
fn allocate_until_a_signal_exits() {
    extern "C" fn exit(_: i32) {
        // SAFETY: no function that it calls needs what this thread was doing.
        unsafe { libc::exit(22) }
    }
    let once = libc::timeval { tv_sec: 0, tv_usec: 20_000 };
    let never = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: never, it_value: once };
    // SAFETY: the handler has the signature of one, and the timer is valid for the call.
    unsafe {
        libc::signal(libc::SIGALRM, exit as extern "C" fn(i32) as usize);
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
    }
    for round in 0.. {
        drop(black_box(Vec::<u8>::with_capacity(20_000 + round % 50_000)));
    }
}

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
        "handler" => allocate_until_a_signal_exits(),
        other => panic!("no such ending: {other}"),
    }
}
