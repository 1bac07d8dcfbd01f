//! The churn workload: malloc+free pairs of mixed sizes over live slots, on one or more threads. The programs beside
//! this file run it over one allocator each; `cargo xtask bench` compares them.
use std::alloc::{Layout, alloc, dealloc};
use std::time::Instant;

/// Blocks that are live at any time, per thread.
const SLOTS: usize = 10_000;

/// Runs `churn PAIRS THREADS` and prints the nanoseconds a pair took, on the wall clock, as one number.
pub fn main() {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let pairs = arguments.next().unwrap_or(10_000_000);
    let threads = arguments.next().unwrap_or(1);
    let began = Instant::now();
    if threads == 1 {
        churn(pairs, 1);
    } else {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || churn(pairs / threads, thread + 1));
            }
        });
    }
    println!("{:.3}", began.elapsed().as_nanos() as f64 / pairs as f64);
}

/// A size as programs ask for them: most below 128 bytes, some up to 1 KiB, few up to 8 KiB.
fn size(random: u64) -> usize {
    let spread = (random >> 32) as usize;
    match random % 16 {
        0..=9 => 8 + spread % 120,
        10..=13 => 128 + spread % 896,
        _ => 1024 + spread % 7168,
    }
}

fn churn(pairs: u64, seed: u64) {
    let mut slots: Vec<(*mut u8, usize)> = vec![(std::ptr::null_mut(), 0); SLOTS];
    // xorshift64*, so that every allocator sees the same requests.
    let mut state = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed);
    for _ in 0..pairs {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let random = state.wrapping_mul(0x2545_f491_4f6c_dd1d);
        let slot = &mut slots[(random >> 16) as usize % SLOTS];
        free(*slot);
        let bytes = size(random);
        // SAFETY: the size is at least 8 and the alignment a power of two.
        let block = unsafe { alloc(Layout::from_size_align_unchecked(bytes, 8)) };
        // SAFETY: the block has at least 8 bytes.
        unsafe { block.write(1) };
        *slot = (block, bytes);
    }
    slots.into_iter().for_each(free);
}

fn free((block, bytes): (*mut u8, usize)) {
    if !block.is_null() {
        // SAFETY: the block was allocated with this layout and is freed once.
        unsafe { dealloc(block, Layout::from_size_align_unchecked(bytes, 8)) };
    }
}
