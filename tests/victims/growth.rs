//! Sixty steps in which six owners hold memory in six ways; `tests/growth.rs` says which of them grow.
use std::hint::black_box;

use alloc_interpose as _;
use alloc_tracker::{Session, layer, phase};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const MIB: usize = 1 << 20;

/// Whole pages that are never touched.
fn block(bytes: usize) -> Vec<u8> {
    black_box(vec![0u8; bytes])
}

fn main() {
    let path = std::env::args().nth(1).expect("the timeline's path");
    let session = Session::builder().output(path).fact("model", "growing").start().expect("a session");
    let mut kept: Vec<Vec<u8>> = Vec::with_capacity(1_000);
    let mut small: Vec<Box<[u8; 64]>> = Vec::with_capacity(2_000);
    let mut cached: Vec<Option<Vec<u8>>> = vec![None; 16];
    let mut noise = Vec::new();
    let mut list: Vec<[u8; 1024]> = Vec::new();
    let mut random = 1u64;
    for step in 1..=60 {
        session.begin_step();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        {
            // A leak of 4 MiB a step from step 12 on.
            let _phase = phase!("data");
            if step >= 12 {
                kept.push(block(4 * MIB));
            }
        }
        {
            // A cache with one entry for each of 16 batch sizes. It grows ever more slowly, and stops when it has all
            // of them.
            let _phase = phase!("forward");
            let _layer = layer!("conv1");
            let size = if step > 24 { step % 16 } else { (random >> 33) as usize % 16 };
            cached[size].get_or_insert_with(|| block(MIB));
        }
        {
            // Three steps in which buffers are made that stay.
            let _phase = phase!("forward");
            let _layer = layer!("warm");
            if step <= 3 {
                kept.push(block(8 * MIB));
            }
        }
        {
            // Between 1 and 8 MiB, never for longer than a step.
            let _phase = phase!("forward");
            let _layer = layer!("noisy");
            noise = block(((random >> 40) as usize % 8 + 1) * MIB);
        }
        {
            // A leak of 1 KiB a step in blocks of 64 bytes.
            let _phase = phase!("forward");
            let _layer = layer!("encoder.3");
            small.extend((0..16).map(|_| black_box(Box::new([0u8; 64]))));
        }
        {
            // A list of records, one a step: it doubles when it is full.
            let _phase = phase!("metrics");
            list.push([1; 1024]);
            black_box(&mut list);
        }
        session.end_step();
    }
    drop((kept, small, cached, noise, list));
    session.finish().expect("the timeline");
}
