//! A seeded mix of Rust's allocations in scopes: the same requests in every run, whichever allocator answers.
use std::hint::black_box;

use alloc_tracker::{Session, layer, phase};

#[path = "trap_kit.rs"]
mod kit;
use kit::Random;

const PHASES: [&str; 4] = ["init", "data", "forward", "backward"];
const LAYERS: [&str; 3] = ["conv1", "fc", "a.long.path"];

/// A block on a boundary of 256 bytes.
#[repr(align(256))]
struct Aligned(#[allow(dead_code, reason = "it is there to be allocated")] [u8; 700]);

enum Block {
    /// A block that is resized now and then.
    Bytes(Vec<u8>),
    Text(#[allow(dead_code, reason = "it is there to be held")] String),
    OnItsBoundary(#[allow(dead_code, reason = "it is there to be held")] Box<Aligned>),
}

/// Records the mix of the seed in the second argument, with a table of who owns what in the middle of it.
pub fn record() {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, seed] = &args[..] else { panic!("a path and a seed") };
    let mut random = Random(seed.parse::<u64>().expect("a number").wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let session = Session::builder().output(path).start().expect("a session");
    let mut blocks: Vec<Option<Block>> = (0..500).map(|_| None).collect();
    for round in 0..20_000 {
        if round == 15_000 {
            session.snapshot("middle");
        }
        let _phase = phase!(PHASES[random.below(4) as usize]);
        let _layer = layer!(LAYERS[random.below(3) as usize]);
        let block = &mut blocks[random.below(500) as usize];
        let most = 1 << random.below(18);
        let bytes = 1 + random.below(most) as usize;
        match (&mut *block, random.below(8)) {
            (Some(Block::Bytes(held)), 0..5) => {
                held.clear();
                held.shrink_to(bytes);
                held.reserve_exact(bytes);
            }
            (Some(_), _) => *block = None,
            (None, 0..3) => *block = Some(Block::Bytes(Vec::with_capacity(bytes))),
            (None, 3..5) => *block = Some(Block::Bytes(vec![0; bytes])),
            (None, 5 | 6) => *block = Some(Block::Text("x".repeat(bytes % 40 + 1))),
            (None, _) => *block = Some(Block::OnItsBoundary(Box::new(Aligned([1; 700])))),
        }
        black_box(&blocks);
    }
    drop(blocks);
    session.finish().expect("the timeline");
}
