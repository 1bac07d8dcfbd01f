//! Which blocks are sampled, and for how many bytes a sample stands.
//!
//! Samples fall on the allocated bytes as a Poisson process does: the gap to the next one is exponential with the mean that
//! the environment gives, whatever has been before. A block of s bytes is sampled when at least one falls on it,
//! with probability p = 1 - exp(-s / mean), and then stands for s / p bytes; so the expected sum is the true one, of all
//! blocks and of each kind of them, whatever their sizes. (Why s / p and not the mean: jemalloc,
//! `doc_internal/PROFILING_INTERNALS.md`; tcmalloc, `docs/sampling.md`.) The variance of that sum is the sum of
//! s² (1 - p) / p over all blocks.
//!
//! Each thread counts its gaps down by itself, with random numbers of its own, from the seed and the number of its place
//! among the threads: what a program with one thread allocates is sampled the same way in every run.
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, compiler_fence};

use super::{MEAN, SEED};
use crate::ledger::slot::Slot;

/// A thread's countdown. All zeroes: not begun.
#[derive(Debug, Default)]
pub struct Sampler {
    /// Bytes to the next sample.
    left: AtomicI64,
    /// State of the random numbers; 0 before the first.
    random: AtomicU64,
    /// Set while the countdown is read and written: a signal handler's blocks then go another way.
    busy: AtomicU32,
}

/// Numbers for blocks that no countdown can take.
static LOOSE: AtomicU64 = AtomicU64::new(0);
/// An odd number whose multiples fall everywhere.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Whether a sample falls on the next `bytes` bytes that this thread allocates.
#[inline]
pub fn is_due(slot: Option<&Slot>, bytes: u64) -> bool {
    let mean = MEAN.load(Ordering::Relaxed);
    match slot {
        Some(slot) if slot.sampler.busy.load(Ordering::Relaxed) == 0 => {
            // A handler that comes in between is over before this goes on.
            slot.sampler.busy.store(1, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            let due = slot.sampler.count_down(bytes, mean, slot.index.load(Ordering::Relaxed).into());
            compiler_fence(Ordering::SeqCst);
            slot.sampler.busy.store(0, Ordering::Relaxed);
            due
        }
        // No slot, or a signal handler in the middle of the above: this block by itself.
        _ => {
            let number = LOOSE.fetch_add(1, Ordering::Relaxed).wrapping_mul(STRIDE);
            unit(mixed(SEED.load(Ordering::Relaxed) ^ number)) <= probability(bytes, mean)
        }
    }
}

impl Sampler {
    fn count_down(&self, bytes: u64, mean: u64, place: u64) -> bool {
        if self.random.load(Ordering::Relaxed) == 0 {
            let seed = SEED.load(Ordering::Relaxed).wrapping_add(1).wrapping_mul(STRIDE);
            self.random.store(mixed(seed ^ mixed(place.wrapping_add(1))) | 1, Ordering::Relaxed);
            self.left.store(self.gap(mean), Ordering::Relaxed);
        }
        let left = self.left.load(Ordering::Relaxed).saturating_sub_unsigned(bytes);
        let due = left <= 0;
        self.left.store(if due { self.gap(mean) } else { left }, Ordering::Relaxed);
        due
    }

    /// Bytes to the next sample, at least 1: an exponential number rounded up, so that it is beyond s whole bytes with
    /// probability exp(-s / mean), as the number itself is.
    fn gap(&self, mean: u64) -> i64 {
        let state = self.random.load(Ordering::Relaxed).wrapping_add(STRIDE);
        self.random.store(state, Ordering::Relaxed);
        (-(mean as f64) * unit(mixed(state)).ln()).ceil().max(1.0) as i64
    }
}

/// SplitMix64's finisher: each bit of the result depends on all of `state`.
fn mixed(state: u64) -> u64 {
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

/// Above 0, at most 1.
fn unit(random: u64) -> f64 {
    ((random >> 11) + 1) as f64 / (1u64 << 53) as f64
}

fn probability(bytes: u64, mean: u64) -> f64 {
    -(-(bytes as f64) / mean as f64).exp_m1()
}

/// The bytes that a sampled block of `bytes` stands for, to the nearest whole one.
pub fn weight(bytes: u64, mean: u64) -> u64 {
    (bytes as f64 / probability(bytes, mean)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_block_stands_for_the_mean_and_a_large_one_for_itself() {
        // s / (1 - exp(-s/m)) = m + s/2 + ... for small s: 524,288 + 4.
        assert_eq!(weight(8, 512 << 10), (512 << 10) + 4);
        assert_eq!(weight(100 << 20, 512 << 10), 100 << 20);
        assert_eq!(weight(16, 1), 16);
    }

    /// Within 4 sigma of the truth for each of 50 threads' numbers; all 50 together as well. Fixed seeds: this holds or
    /// fails for ever.
    #[test]
    fn sums_are_right() {
        let mean = 10_000;
        for bytes in [8, 1_000, 10_000, 100_000] {
            let (mut all, count) = (0.0, 20_000.0);
            let p = probability(bytes, mean);
            let sigma = bytes as f64 * (count * (1.0 - p) / p).sqrt();
            let truth = bytes as f64 * count;
            for place in 0..50 {
                let sampler = Sampler::default();
                let due = (0..count as u64).filter(|_| sampler.count_down(bytes, mean, place)).count();
                let sum = due as f64 * weight(bytes, mean) as f64;
                assert!((sum - truth).abs() <= 4.0 * sigma + count, "{bytes} {place}: {sum} {truth} {sigma}");
                all += sum - truth;
            }
            assert!(all.abs() <= 4.0 * sigma * 50f64.sqrt() + 50.0 * count, "{bytes}: {all}");
        }
    }
}
