//! The sampler: it decides which blocks are sampled with their call stacks, and for how many bytes a sample stands.
//!
//! Sample points are spread over the allocated bytes as a Poisson process: the distance to the next point is
//! exponentially distributed, with the mean that the environment gives. A block of s bytes is sampled when at least one
//! point falls into it, which has the probability p = 1 - exp(-s / mean). The sample then stands for s / p bytes. So
//! the expected value of the sum of all samples is the true number of bytes, and so is that of any part of them,
//! whatever the blocks' sizes. (Why s / p and not the mean: jemalloc, `doc_internal/PROFILING_INTERNALS.md`; tcmalloc,
//! `docs/sampling.md`.) The variance of the sum is the sum of s² (1 - p) / p over all blocks.
//!
//! Each thread counts down to its next point by itself. Its random numbers follow from the seed and the number of the
//! thread's slot, so that a program with one thread is sampled in the same way in every run; in a forked child also from which child it is,
//! so that the errors of several children are not one and the same.
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, compiler_fence};

use crate::settings::sampling::{mean_bytes, seed};

/// A thread's countdown to its next sample point. All zeroes: it has not begun yet.
#[derive(Debug, Default)]
pub struct Sampler {
    /// Bytes to the next sample point.
    left: AtomicI64,
    /// The state of the random number generator; 0 before the first number.
    random: AtomicU64,
    /// 1 while the countdown is read and written. A signal handler that interrupts that decides without the countdown.
    busy: AtomicU32,
}

/// How many blocks have been decided about without a countdown; it gives each of them a random number of its own.
static WITHOUT_COUNTDOWN: AtomicU64 = AtomicU64::new(0);
/// How many times this process has forked.
static FORKS: AtomicU64 = AtomicU64::new(0);
/// A number of this process's own, which follows from the forks that led to it; 0 for one that was not forked.
static LINEAGE: AtomicU64 = AtomicU64::new(0);
/// SplitMix64's step between states: an odd number (2^64 divided by the golden ratio) whose multiples are spread
/// evenly.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Whether a sample point falls into a block of `bytes` bytes that is decided about on its own: that of a thread without a slot, or of a
/// signal handler that has interrupted its thread's countdown.
pub fn is_due_alone(bytes: u64) -> bool {
    let number = WITHOUT_COUNTDOWN.fetch_add(1, Ordering::Relaxed).wrapping_mul(STRIDE);
    unit(mixed(own_seed() ^ number)) <= probability(bytes, mean_bytes())
}

/// To be called before each fork.
pub fn about_to_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// To be called in a forked child, before [`Sampler::forked`].
pub fn forked() {
    let lineage = lineage(LINEAGE.load(Ordering::Relaxed), FORKS.swap(0, Ordering::Relaxed));
    LINEAGE.store(lineage, Ordering::Relaxed);
}

/// The number of a child's own, which a process with this number of its own has forked as its `fork`-th.
fn lineage(parent: u64, fork: u64) -> u64 {
    mixed(parent.wrapping_add(STRIDE) ^ fork)
}

/// The seed of this process.
fn own_seed() -> u64 {
    seed() ^ LINEAGE.load(Ordering::Relaxed)
}

/// For how many bytes a sampled block of `bytes` bytes stands, rounded to a whole number.
pub fn weight(bytes: u64) -> u64 {
    weight_at(bytes, mean_bytes())
}

impl Sampler {
    /// Runs `work`, which may use the countdown; `None`, without running it, in a signal handler that has interrupted such work.
    #[inline]
    pub fn exclusively<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        if self.busy.load(Ordering::Relaxed) != 0 {
            return None;
        }
        // A handler that interrupts this has ended before this goes on, so plain loads and stores are enough.
        self.busy.store(1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let result = work();
        compiler_fence(Ordering::SeqCst);
        self.busy.store(0, Ordering::Relaxed);
        Some(result)
    }

    /// Counts `bytes` more that the thread has allocated. `slot` is the number of its slot.
    pub fn count_down(&self, bytes: u64, slot: u32) {
        self.count_down_from(bytes, mean_bytes(), slot.into());
    }

    /// To be called in a forked child for all slots: the numbers from here on are the child's own. (How far it is to the next point stays:
    /// an exponentially distributed distance has no memory.)
    pub fn forked(&self) {
        let state = self.random.load(Ordering::Relaxed);
        if state != 0 {
            self.random.store(mixed(state ^ LINEAGE.load(Ordering::Relaxed)) | 1, Ordering::Relaxed);
        }
    }

    /// Whether the next sample point is reached. If so, the countdown to the one after it begins.
    pub fn take_due(&self) -> bool {
        self.take_due_at(mean_bytes())
    }

    /// Bytes to the next sample point; 0 when it is reached.
    pub fn left(&self) -> u64 {
        u64::try_from(self.left.load(Ordering::Relaxed)).unwrap_or(0)
    }

    fn count_down_from(&self, bytes: u64, mean: u64, slot: u64) {
        if self.random.load(Ordering::Relaxed) == 0 {
            let seed = own_seed().wrapping_add(1).wrapping_mul(STRIDE);
            self.random.store(mixed(seed ^ mixed(slot.wrapping_add(1))) | 1, Ordering::Relaxed);
            self.left.store(self.distance(mean), Ordering::Relaxed);
        }
        let left = self.left.load(Ordering::Relaxed).saturating_sub_unsigned(bytes);
        self.left.store(left, Ordering::Relaxed);
    }

    fn take_due_at(&self, mean: u64) -> bool {
        let due = self.left() == 0;
        if due {
            self.left.store(self.distance(mean), Ordering::Relaxed);
        }
        due
    }

    /// The distance to the next sample point in bytes, at least 1: an exponentially distributed number, rounded up.
    /// Rounded up, it exceeds s whole bytes with probability exp(-s / mean), as the number itself does.
    fn distance(&self, mean: u64) -> i64 {
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

/// A random number above 0 and at most 1, from 64 random bits.
fn unit(random: u64) -> f64 {
    ((random >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// The probability that a block of `bytes` bytes is sampled.
fn probability(bytes: u64, mean: u64) -> f64 {
    -(-(bytes as f64) / mean as f64).exp_m1()
}

fn weight_at(bytes: u64, mean: u64) -> u64 {
    (bytes as f64 / probability(bytes, mean)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_block_stands_for_the_mean_and_a_large_one_for_itself() {
        // s / (1 - exp(-s/m)) = m + s/2 + ... for small s: 524,288 + 4.
        assert_eq!(weight_at(8, 512 << 10), (512 << 10) + 4);
        assert_eq!(weight_at(100 << 20, 512 << 10), 100 << 20);
        assert_eq!(weight_at(16, 1), 16);
    }

    /// Two children of one process, and a child's child.
    #[test]
    fn forked_processes_have_numbers_of_their_own() {
        let first = lineage(0, 1);
        let lineages = [first, lineage(0, 2), lineage(first, 1)];
        assert!(lineages.iter().all(|own| *own != 0 && lineages.iter().filter(|other| *other == own).count() == 1));
    }

    /// The sum of samples is within 4 sigma of the truth for each of 50 threads, and so is the sum over all 50. The
    /// seeds are fixed, so the outcome is the same in every run.
    #[test]
    fn sums_are_right() {
        let mean = 10_000;
        for bytes in [8, 1_000, 10_000, 100_000] {
            let (mut all, count) = (0.0, 20_000.0);
            let p = probability(bytes, mean);
            let sigma = bytes as f64 * (count * (1.0 - p) / p).sqrt();
            let truth = bytes as f64 * count;
            for slot in 0..50 {
                let sampler = Sampler::default();
                let is_due = |_: &u64| {
                    sampler.count_down_from(bytes, mean, slot);
                    sampler.take_due_at(mean)
                };
                let due = (0..count as u64).filter(is_due).count();
                let sum = due as f64 * weight_at(bytes, mean) as f64;
                assert!((sum - truth).abs() <= 4.0 * sigma + count, "{bytes} {slot}: {sum} {truth} {sigma}");
                all += sum - truth;
            }
            assert!(all.abs() <= 4.0 * sigma * 50f64.sqrt() + 50.0 * count, "{bytes}: {all}");
        }
    }
}
