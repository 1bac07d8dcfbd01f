//! Ways to end with a session open, named by the second argument, each with an atexit handler that allocates.
use std::hint::black_box;

use alloc_interpose as _;
use alloc_tracker::phase;

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

extern "C" fn handler() {
    let _phase = phase!("handler");
    for size in [1, 100, 100_000] {
        drop(black_box(vec![0u8; size]));
        // SAFETY: malloc accepts every size, and free any block of it.
        unsafe { libc::free(black_box(libc::malloc(size))) };
    }
    println!("ok handler");
}

fn main() {
    // SAFETY: the handler has the signature asked for and stays valid.
    unsafe { libc::atexit(handler) };
    let session = session();
    // SAFETY: as above.
    unsafe { libc::atexit(handler) };
    let trick = trick();
    println!("ok began");
    let _phase = phase!("held");
    let _held = black_box(vec![1u8; 100_000]);
    match trick.as_str() {
        "return" => std::mem::forget(session),
        "exit" => std::process::exit(3),
        "exit in a thread" => {
            let _ = std::thread::spawn(|| std::process::exit(3)).join();
        }
        // SAFETY: ends the process without handlers.
        "_exit" => unsafe { libc::_exit(3) },
        // SAFETY: ends the process with those of at_quick_exit, of which there are none.
        "quick_exit" => unsafe { quick_exit(3) },
        "abort" => std::process::abort(),
        "panic" => panic!("as asked"),
        other => panic!("no trick {other:?}"),
    }
}
