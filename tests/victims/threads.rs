//! Threads that allocate known bytes: `tests/threads.rs` says what must be found of each. The first argument is the timeline's
//! path. All blocks have 1 MiB.
//!
//! ```text
//! loader   24 blocks, which main holds when the thread has ended
//! passing  48 blocks, one after the other: none lives at the peak
//! abrupt    8 blocks, for ever; it ends without the thread library, so that it tells nobody
//! decoder  12 blocks, which it holds itself; it ends after the recording
//! main      4 blocks, the last of which makes the peak
//! ```
use std::hint::black_box;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use alloc_interpose as _;
use alloc_tracker::Session;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// So many blocks of 1 MiB.
fn blocks(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|_| black_box(Vec::with_capacity(1 << 20))).collect()
}

fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.to_owned())
}

/// Runs a thread that allocates blocks for ever and ends by a system call of its own.
fn end_abruptly() {
    let (tell, told) = mpsc::channel();
    let work = move || {
        std::mem::forget(blocks(8));
        // SAFETY: gettid takes nothing. The exit ends this thread and no other; nothing of its stack is used any more: the
        // number has been sent, and nobody joins the thread.
        unsafe {
            tell.send(libc::gettid()).expect("main waits");
            libc::syscall(libc::SYS_exit, 0);
        }
    };
    std::mem::forget(named("abrupt").spawn(work).expect("a thread"));
    let task = format!("/proc/self/task/{}", told.recv().expect("its number"));
    while Path::new(&task).exists() {
        thread::sleep(Duration::from_millis(1));
    }
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: victim-threads TIMELINE");
    let session = Session::builder().output(path).start().expect("a session");
    let loaded = named("loader").spawn(|| blocks(24)).expect("a thread").join().expect("its blocks");
    let passing = named("passing").spawn(|| (0..48).for_each(|_| drop(blocks(1))));
    passing.expect("a thread").join().expect("its end");
    end_abruptly();
    let (ready, is_ready) = mpsc::channel();
    let (end, is_over) = mpsc::channel::<()>();
    let work = move || {
        let held = blocks(12);
        ready.send(()).expect("main waits");
        // Main drops the other end.
        let _ = is_over.recv();
        drop(black_box(held));
    };
    let decoder = named("decoder").spawn(work).expect("a thread");
    is_ready.recv().expect("it is ready");
    let own = blocks(4);
    session.finish().expect("a timeline");
    drop((black_box(loaded), black_box(own), end));
    decoder.join().expect("its end");
}
