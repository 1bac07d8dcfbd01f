//! Grows in the layer `greedy` of the phase `forward` until it has no more memory. The arguments: the timeline's path;
//! `address-space`, for a limit of its own on all mappings, or `group`, for one of the control group that it was started
//! in; and by how many bytes it may grow before that limit is reached, for the former.
//!
//! It grows by a quarter of a megabyte at a time, touches what it gets, and pauses, as a program does that also computes.
use std::hint::black_box;
use std::time::Duration;

use alloc_interpose as _;
use alloc_tracker::{Session, layer, phase};

mod trap_kit;
use trap_kit::{limit_address_space, statm};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const BLOCK: usize = 256 << 10;

fn main() {
    let [path, which, more] = [1, 2, 3].map(|index| std::env::args().nth(index).expect("an argument"));
    if which == "address-space" {
        limit_address_space(statm(0) + more.parse::<u64>().expect("bytes"));
    }
    let session = Session::builder().output(path).start().expect("a session");
    let _modest = {
        let _phase = phase!("init");
        let _layer = layer!("modest");
        black_box(vec![1u8; 8 << 20])
    };
    let _phase = phase!("forward");
    let _layer = layer!("greedy");
    let mut held: Vec<Vec<u8>> = Vec::with_capacity(1 << 12);
    loop {
        let mut block: Vec<u8> = Vec::new();
        if block.try_reserve_exact(BLOCK).is_err() {
            break;
        }
        block.resize(BLOCK, 1);
        held.push(black_box(block));
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("refused after {} blocks", held.len());
    drop(held);
    session.finish().expect("the timeline");
}
