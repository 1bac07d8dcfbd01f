//! `ALLOC_TRACKER_STACKS`: whether blocks are sampled with their call stacks, at which mean distance, and with which
//! seed.
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use alloc_timeline::sampling::parse;

use super::environment::variable;

const VARIABLE: &str = "ALLOC_TRACKER_STACKS";
/// From this mean on, in bytes, samples are rare: two words of a lane ([`WORD_LIMIT`](crate::tag::word::WORD_LIMIT)) and more lie between
/// most of them.
const RARE: u64 = 64 << 10;

const UNDECIDED: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;
/// On, with a mean of at least [`RARE`].
const RARELY: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(UNDECIDED);
static MEAN: AtomicU64 = AtomicU64::new(1);
static SEED: AtomicU64 = AtomicU64::new(0);

/// Whether blocks are sampled in this process.
#[inline(always)]
pub fn is_on() -> bool {
    cfg!(feature = "stacks")
        && match STATE.load(Ordering::Relaxed) {
            UNDECIDED => decide(),
            state => state >= ON,
        }
}

/// Whether blocks are sampled, and so rarely that it is worth while to let only the sampled ones leave the hot path.
#[inline(always)]
pub fn is_rare() -> bool {
    is_on() && STATE.load(Ordering::Relaxed) == RARELY
}

#[cold]
fn decide() -> bool {
    let asked = variable(c"ALLOC_TRACKER_STACKS").and_then(|text| text.to_str().ok()).and_then(parse);
    if let Some((mean, seed)) = asked {
        MEAN.store(mean, Ordering::Relaxed);
        SEED.store(seed, Ordering::Relaxed);
    }
    let state = match asked {
        None => OFF,
        Some((mean, _)) if mean >= RARE => RARELY,
        Some(_) => ON,
    };
    STATE.store(state, Ordering::Release);
    asked.is_some()
}

/// The mean distance between two samples, in allocated bytes; at least 1.
#[cfg(feature = "stacks")]
#[inline]
pub fn mean_bytes() -> u64 {
    MEAN.load(Ordering::Relaxed)
}

/// The seed of the random numbers that decide which blocks are sampled.
#[cfg(feature = "stacks")]
#[inline]
pub fn seed() -> u64 {
    SEED.load(Ordering::Relaxed)
}

/// A sentence on what is wrong with the environment variable, for the timeline's list of losses; `None` when it is
/// right or not set.
pub fn problem() -> Option<String> {
    let text = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty())?;
    if parse(&text).is_none() {
        return Some(format!("{VARIABLE}: '{text}' is no mean distance: write 512KiB, or 512KiB,7 with a seed"));
    }
    let absent = !cfg!(feature = "stacks");
    absent.then(|| format!("{VARIABLE}: this program was built without alloc-tracker's feature \"stacks\""))
}
