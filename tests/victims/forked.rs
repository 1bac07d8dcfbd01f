//! A process with known bytes forks, and the child frees a part of them and allocates as known ones: `tests/forked.rs` says what must
//! be found of each. The first argument is the parent's timeline; the child's is beside it, with `.child` behind its name.
//!
//! ```text
//! parent   load, table   64 blocks of 1 MiB, 1,000 of 1,000 bytes
//! child    frees 24 of the former and 400 of the latter; then, until its peak, allocates in
//!          load, table   40 blocks of 1 MiB, 500 of 1,000 bytes
//!          serve         3 of 2 MiB: the phase in which the parent forked
//!          (none)        5 of 1 MiB, when it has left that phase, and 2 more on a thread of its own
//!          side          2 of 4 MiB: a layer that the parent captured, outside of all phases
//! ```
use std::hint::black_box;
use std::thread;

use alloc_interpose as _;
use alloc_tracker::{Session, capture, layer, phase};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const MIB: usize = 1 << 20;

/// So many blocks, and the list of them.
fn blocks(count: usize, bytes: usize) -> Vec<Vec<u8>> {
    (0..count).map(|_| black_box(Vec::with_capacity(bytes))).collect()
}

/// What is allocated in the phase `load` and the layer `table`, and the lists of it in none.
fn load(large: usize, small: usize) -> [Vec<Vec<u8>>; 2] {
    let mut lists: [Vec<Vec<u8>>; 2] = [Vec::with_capacity(1_000), Vec::with_capacity(1_000)];
    let _phase = phase!("load");
    let _layer = layer!("table");
    lists[0].extend((0..large).map(|_| black_box(Vec::with_capacity(MIB))));
    lists[1].extend((0..small).map(|_| black_box(Vec::with_capacity(1_000))));
    lists
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: victim-forked TIMELINE");
    let session = Session::builder().output(&path).start().expect("a session");
    let [mut large, mut small] = load(64, 1_000);
    let side = {
        let _layer = layer!("side");
        capture()
    };
    let serving = phase!("serve");
    // SAFETY: the parent has no threads but the tracker's, and the child of such a program may allocate.
    let child = unsafe { libc::fork() };
    if child != 0 {
        let mut status = 0;
        // SAFETY: `status` is valid for writing.
        let reaped = unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!((reaped, status), (child, 0), "the child");
        drop(serving);
        session.finish().expect("the parent's timeline");
        return;
    }
    // The session is the parent's.
    std::mem::forget(session);
    let session = Session::builder().output(format!("{path}.child")).start().expect("the child's session");
    large.truncate(40);
    small.truncate(600);
    let own = load(40, 500);
    let served = blocks(3, 2 * MIB);
    drop(serving);
    let unnamed = blocks(5, MIB);
    let on_a_thread = thread::spawn(|| blocks(2, MIB)).join().expect("its blocks");
    let beside = {
        let _side = side.attach();
        blocks(2, 4 * MIB)
    };
    black_box((&large, &small, &own, &served, &unnamed, &on_a_thread, &beside));
    session.finish().expect("the child's timeline");
    // SAFETY: ends the child without the handlers, which are the parent's.
    unsafe { libc::_exit(0) }
}
