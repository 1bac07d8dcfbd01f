//! A program that a test kills while it records. Two threads allocate in scopes, up to three hundred megabytes in all.
//! The second argument is a file of three times of CLOCK_MONOTONIC in nanoseconds: that before the session began,
//! written once it records; the latest breath of a thread that sleeps for a millisecond at a time; and that of the busy
//! ones, after each allocation. The third is the seed.
use std::fs::File;
use std::hint::black_box;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use alloc_interpose as _;
use alloc_tracker::{layer, phase};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// What a thread holds at most, in bytes.
const HELD: usize = 120 << 20;

/// The three times, in a mapping that outlives the process.
fn times(path: &str) -> &'static [AtomicU64; 3] {
    let file = File::options().read(true).write(true).open(path).expect("the file of the times");
    let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: the file has 24 bytes; the mapping stays for the process's life and is only used through atomics.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), 24, read_write, shared, file.as_raw_fd(), 0);
        assert_ne!(start, libc::MAP_FAILED);
        &*start.cast()
    }
}

fn work(mut random: Random, breath: &AtomicU64) {
    let mut held: Vec<Vec<u8>> = Vec::new();
    let mut bytes = 0;
    loop {
        let _phase = phase!(["forward", "backward"][random.below(2) as usize]);
        let _layer = layer!(["conv1", "conv2", "fc"][random.below(3) as usize]);
        let most = 1 << (4 + random.below(17));
        let block = black_box(vec![1u8; random.below(most) as usize]);
        bytes += block.len();
        held.push(block);
        while bytes > HELD || random.below(3) == 0 && !held.is_empty() {
            let place = random.below(held.len() as u64) as usize;
            bytes -= held.swap_remove(place).len();
        }
        breath.fetch_max(now_ns(), Ordering::Relaxed);
    }
}

fn main() {
    let [path, seed] = [2, 3].map(|index| std::env::args().nth(index).expect("an argument"));
    let seed: u64 = seed.parse().expect("a number");
    let times = times(&path);
    let _base = {
        let _phase = phase!("init");
        black_box(vec![1u8; 60 << 20])
    };
    let before = now_ns();
    let _session = session();
    times[0].store(before, Ordering::Release);
    thread::scope(|threads| {
        for number in 0..2 {
            threads.spawn(move || work(Random(seed * 7_919 + number + 1), &times[2]));
        }
        loop {
            times[1].store(now_ns(), Ordering::Relaxed);
            thread::sleep(Duration::from_millis(1));
        }
    });
}
