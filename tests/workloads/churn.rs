//! The churn workload: malloc+free pairs of mixed sizes over live slots, on one or more threads. The programs beside
//! this file run it over one allocator each; `cargo xtask bench` compares them.
use std::alloc::{Layout, alloc, dealloc};

use super::stopwatch::Stopwatch;

/// Blocks that are live at any time, per thread.
const SLOTS: usize = 10_000;

/// Where the blocks come from; a type, so that no call goes through a pointer that another door would not need.
pub trait Door {
    /// A block of `bytes`, aligned to 8.
    fn allocate(bytes: usize) -> *mut u8;

    /// Gives it back.
    ///
    /// # Safety
    /// `block` is live and came from [`Door::allocate`] with these `bytes`.
    unsafe fn free(block: *mut u8, bytes: usize);
}

/// Rust's door: whatever the program's `#[global_allocator]` is.
pub struct Rust;

impl Door for Rust {
    #[inline(always)]
    fn allocate(bytes: usize) -> *mut u8 {
        // SAFETY: the size is at least 8 and the alignment a power of two.
        unsafe { alloc(Layout::from_size_align_unchecked(bytes, 8)) }
    }

    #[inline(always)]
    unsafe fn free(block: *mut u8, bytes: usize) {
        // SAFETY: as the caller promises, the block was allocated with this layout.
        unsafe { dealloc(block, Layout::from_size_align_unchecked(bytes, 8)) }
    }
}

/// Runs the workload for the arguments `PAIRS THREADS DOOR` and prints the nanoseconds a pair took. `DOOR` is `rust` or
/// `c`; the latter is the program's `C`.
pub fn run<C: Door>(mut arguments: impl Iterator<Item = String>) {
    let mut number = |otherwise| arguments.next().map_or(otherwise, |word| word.parse::<u64>().expect("a number"));
    let (pairs, threads) = (number(10_000_000), number(1));
    match arguments.next().as_deref() {
        None | Some("rust") => time::<Rust>(pairs, threads),
        Some("c") => time::<C>(pairs, threads),
        Some(other) => panic!("the doors are `rust` and `c`, not {other}"),
    }
}

fn time<D: Door>(pairs: u64, threads: u64) {
    let watch = Stopwatch::start();
    if threads == 1 {
        churn::<D>(pairs, 1);
    } else {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || churn::<D>(pairs / threads, thread + 1));
            }
        });
    }
    watch.print(pairs);
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

fn churn<D: Door>(pairs: u64, seed: u64) {
    // An array, so that the loop checks no bounds, whatever the compiler knows of the length of a vector.
    let slots = vec![(std::ptr::null_mut(), 0); SLOTS].into_boxed_slice();
    let mut slots: Box<[(*mut u8, usize); SLOTS]> = slots.try_into().expect("a slice of this length");
    // xorshift64*, so that every allocator sees the same requests.
    let mut state = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed);
    for _ in 0..pairs {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let random = state.wrapping_mul(0x2545_f491_4f6c_dd1d);
        let slot = &mut slots[(random >> 16) as usize % SLOTS];
        free::<D>(*slot);
        let bytes = size(random);
        let block = D::allocate(bytes);
        // SAFETY: the block has at least 8 bytes.
        unsafe { block.write(1) };
        *slot = (block, bytes);
    }
    slots.into_iter().for_each(free::<D>);
}

#[inline(always)]
fn free<D: Door>((block, bytes): (*mut u8, usize)) {
    if !block.is_null() {
        // SAFETY: the slot's block came from this door with this size, and is overwritten after this.
        unsafe { D::free(block, bytes) };
    }
}
