//! Much of something: `threads` starts and ends 10,000 threads, eight at a time; `scopes` enters 70,000 scopes of
//! different names; `depth` nests more scopes than there is room for.
use std::hint::black_box;
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
