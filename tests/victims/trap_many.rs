//! Much of something: `threads` starts and ends 10,000 threads, eight at a time; `crowd` has 1,000 threads at once, which free
//! each other's blocks; `scopes` enters 70,000 scopes of different names; `depth` nests more scopes than there is room for.
use std::hint::black_box;
use std::sync::{Barrier, Mutex};
use std::thread;

use alloc_interpose as _;
use alloc_tracker::{layer, phase};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn main() {
    let session = session();
    match trick().as_str() {
        "threads" => threads(),
        "crowd" => crowd(),
        "scopes" => scopes(),
        "depth" => depth(),
        other => panic!("no trick {other:?}"),
    }
    finish(session);
    println!("ok the end");
}

fn batch() {
    let workers: Vec<_> = (0..8)
        .map(|number| {
            thread::Builder::new().stack_size(128 << 10).spawn(move || {
                let _phase = phase!("short lives");
                drop(black_box(vec![0u8; 100 + number]));
                drop(black_box(vec![0u8; 30_000]));
            })
        })
        .map(|worker| worker.expect("a thread"))
        .collect();
    workers.into_iter().for_each(|worker| worker.join().expect("no panic"));
}

fn threads() {
    (0..25).for_each(|_| batch());
    let before = resident();
    (25..1_250).for_each(|_| batch());
    let grown = resident() - before;
    check_that("10,000 threads leave nothing behind", grown < 16 << 20, grown);
}

/// In the crowd are so many threads ...
const CROWD: usize = 1_000;
/// ... each of which makes blocks for its neighbour in so many rounds, at most so many of each of these sizes.
const ROUNDS: u64 = 12;
const MOST_BLOCKS: u64 = 48;
const SIZES: [usize; 3] = [48, 224, 1_024];

/// What a thread has made for its neighbour, or holds in place of that.
type Handed = Mutex<Vec<Vec<u8>>>;

/// Each thread makes a number of blocks that differs from round to round, and frees those of its neighbour. So the caches of some
/// threads fill while those of others run empty.
fn crowd() {
    let handed: Vec<Handed> = (0..CROWD).map(|_| Mutex::new(Vec::new())).collect();
    // All threads and this one meet after each half of a round.
    let meet = Barrier::new(CROWD + 1);
    let held = thread::scope(|threads| {
        for number in 0..CROWD {
            let (handed, meet) = (&handed, &meet);
            let member = move || {
                let _phase = phase!("crowd");
                let mut random = Random(number as u64 + 1);
                for _ in 0..ROUNDS {
                    let sizes = SIZES.iter().flat_map(|&size| vec![size; random.below(MOST_BLOCKS + 1) as usize]);
                    let made: Vec<Vec<u8>> = sizes.map(|size| vec![1u8; size]).collect();
                    *handed[number].lock().expect("no panic") = made;
                    meet.wait();
                    drop(std::mem::take(&mut *handed[(number + 1) % CROWD].lock().expect("no panic")));
                    meet.wait();
                }
            };
            thread::Builder::new().stack_size(128 << 10).spawn_scoped(threads, member).expect("a thread");
        }
        for _ in 0..ROUNDS {
            meet.wait();
            meet.wait();
        }
        resident()
    });
    // The caches of 1,000 threads are bounded by jemalloc's rules, and so is this, whoever looks into the caches: `tests/traps/threads.rs`
    // compares it between runs.
    println!("resident {held} bytes");
    check_that("1,000 threads are there at once", held > CROWD as i64 * 1_024, held);
}

fn scopes() {
    let _phase = phase!("many");
    let before = resident();
    for number in 0..70_000 {
        let _layer = layer!(&format!("layer {number}"));
        drop(black_box(vec![0u8; 10]));
        drop(black_box(vec![0u8; 1_000]));
        if number % 1_000 == 0 {
            drop(black_box(vec![0u8; 100_000]));
        }
    }
    let grown = resident() - before;
    check_that("70,000 scopes take bounded memory", grown < 256 << 20, grown);
}

fn depth() {
    fn nest(left: usize) {
        if left > 0 {
            let _layer = layer!("in");
            drop(black_box(vec![0u8; 50]));
            nest(left - 1);
        }
    }
    {
        let _phase = phase!("deep");
        nest(1_000);
        // All inner scopes have been left, so this block belongs to the phase alone.
        std::mem::forget(black_box(vec![1u8; 777]));
    }
    let _phase = phase!("after");
    std::mem::forget(black_box(vec![1u8; 888]));
}
