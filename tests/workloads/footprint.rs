//! What the tracker itself keeps, so that `cargo xtask bench` can take differences: holds COUNT of something while a
//! session ends, and prints the bytes that the program held and how many of them it holds.
//!
//! `footprint TIMELINE small|c-small|large|threads COUNT`: blocks of 8 bytes to 8 KiB as in the churn workload, Rust's
//! or C's; blocks of 256 KiB that nobody touches; threads that have allocated and wait.
use std::ffi::c_void;
use std::sync::Barrier;

use alloc_interpose as _;
use alloc_tracker::Session;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// A block far above the small ones, and so far apart from the next that it shares no page of the shadow map with it.
const LARGE: usize = 256 << 10;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut word = || arguments.next().expect("footprint TIMELINE small|c-small|large|threads COUNT");
    let (timeline, what, count) = (word(), word(), word().parse::<usize>().expect("a number"));
    let session = Session::builder().output(timeline).start().expect("a session");
    let end = || drop(session.finish().expect("the timeline"));
    match what.as_str() {
        "small" => hold((0..count).map(small).map(Vec::<u8>::with_capacity), |block| block.as_ptr().cast(), end),
        "c-small" => hold((0..count).map(from_c), |block| block.cast_const(), end),
        "large" => hold((0..count).map(|_| Vec::<u8>::with_capacity(LARGE)), |block| block.as_ptr().cast(), end),
        "threads" => threads(count, end),
        other => panic!("small, c-small, large or threads, not {other}"),
    }
}

/// The sizes of the churn workload in their proportions: 10 of 16 below 128 bytes, 4 below 1 KiB, 2 below 8 KiB.
fn small(index: usize) -> usize {
    let spread = index.wrapping_mul(2_654_435_761) >> 8;
    match index % 16 {
        0..=9 => 8 + spread % 120,
        10..=13 => 128 + spread % 896,
        _ => 1024 + spread % 7168,
    }
}

fn from_c(index: usize) -> *mut c_void {
    // SAFETY: malloc takes every size. The blocks stay until the process ends.
    unsafe { libc::malloc(small(index)) }
}

/// These blocks live while `end` runs; `address` says where each is. Prints their usable bytes.
fn hold<B>(blocks: impl Iterator<Item = B>, address: impl Fn(&B) -> *const c_void, end: impl FnOnce()) {
    let blocks: Vec<B> = blocks.collect();
    end();
    // SAFETY: each block is live; one that Rust asked for came from the tracker's own door.
    let usable = |block: &B| unsafe { libc::malloc_usable_size(address(block).cast_mut()) };
    println!("{}", blocks.iter().map(usable).sum::<usize>());
}

/// Threads that have allocated live while `end` runs. Prints how many.
fn threads(count: usize, end: impl FnOnce()) {
    let (begun, done) = (Barrier::new(count + 1), Barrier::new(count + 1));
    std::thread::scope(|scope| {
        for index in 0..count {
            let (begun, done) = (&begun, &done);
            scope.spawn(move || {
                let block = vec![1u8; small(index)];
                begun.wait();
                done.wait();
                drop(block);
            });
        }
        begun.wait();
        end();
        done.wait();
    });
    println!("{count}");
}
