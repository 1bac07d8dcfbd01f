//! The addresses of live sampled blocks. Every free looks here whether its block was sampled.
//!
//! ```text
//! counts, a byte for each bucket: | 0 | 0 | 2 | 0 | ...      how many addresses have this bucket as their own
//! bucket of an address (one cache line):  | a | a | 0 | 0 | 0 | 0 | 0 | 0 |
//! ```
//!
//! A free reads the count of its address's bucket, which is nearly always 0; all counts together fit into the
//! first-level cache. An address whose bucket is full goes into the next bucket. If that is full as well, the sampled
//! block is not followed: the sample counts among the allocated bytes, but not among the live ones.
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

use crate::sys;

/// The number of buckets, a power of two. With 100,000 live sampled blocks, hardly any address finds no place.
const BUCKETS: usize = 1 << 15;
const PLACES: usize = 8;

#[repr(C, align(64))]
struct Bucket {
    places: [AtomicU64; PLACES],
}

/// For each bucket, at least the number of addresses in the table that have it as their own.
static COUNTS: [AtomicU8; BUCKETS] = [const { AtomicU8::new(0) }; BUCKETS];
/// The buckets; null before the first address is added.
static TABLE: AtomicPtr<Bucket> = AtomicPtr::new(ptr::null_mut());

fn table() -> Option<&'static [Bucket]> {
    let table = TABLE.load(Ordering::Acquire);
    // SAFETY: the pointer is null or comes from `table_or_map`: a mapping of BUCKETS buckets of zeroes, which stays for
    // ever. A bucket's fields are atomics, for which zero is a value.
    (!table.is_null()).then(|| unsafe { std::slice::from_raw_parts(table, BUCKETS) })
}

fn table_or_map() -> Option<&'static [Bucket]> {
    sys::get_or_map(&TABLE, BUCKETS * size_of::<Bucket>());
    table()
}

/// The addresses that the table occupies, once there is one.
pub fn range() -> Option<(usize, usize)> {
    let start = TABLE.load(Ordering::Relaxed).addr();
    (start != 0).then_some((start, start + BUCKETS * size_of::<Bucket>()))
}

/// The number of an address's bucket.
fn hash(address: usize) -> usize {
    (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> (64 - BUCKETS.ilog2())
}

/// The places in which an address of `bucket` may be: those of that bucket and of the next.
fn places(table: &[Bucket], bucket: usize) -> impl Iterator<Item = &AtomicU64> {
    table[bucket].places.iter().chain(&table[(bucket + 1) % BUCKETS].places)
}

/// Adds the address of a live block. (It is there already when a block is sampled again because it grew.) `false` when
/// there is no room.
pub fn add(address: usize) -> bool {
    let Some(table) = table_or_map() else { return false };
    let (wanted, bucket) = (address as u64, hash(address));
    if places(table, bucket).any(|place| place.load(Ordering::Relaxed) == wanted) {
        return true;
    }
    // The count grows before the address is there, so that no free misses the address.
    COUNTS[bucket].fetch_add(1, Ordering::Relaxed);
    let free = |place: &AtomicU64| place.compare_exchange(0, wanted, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    let added = places(table, bucket).any(free);
    if !added {
        COUNTS[bucket].fetch_sub(1, Ordering::Relaxed);
    }
    added
}

/// Removes the address of a block that is about to be freed. Returns whether it was there.
#[inline]
pub fn remove(address: usize) -> bool {
    let bucket = hash(address);
    COUNTS[bucket].load(Ordering::Relaxed) != 0 && take_out(address, bucket)
}

#[cold]
fn take_out(address: usize, bucket: usize) -> bool {
    let Some(table) = table() else { return false };
    let wanted = address as u64;
    let held = places(table, bucket).find(|place| place.load(Ordering::Relaxed) == wanted);
    if let Some(place) = held {
        place.store(0, Ordering::Release);
        COUNTS[bucket].fetch_sub(1, Ordering::Relaxed);
    }
    held.is_some()
}

/// Forgets all addresses.
pub fn clear() {
    for place in table().into_iter().flatten().flat_map(|bucket| &bucket.places) {
        let address = place.load(Ordering::Relaxed);
        if address != 0 {
            remove(address as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_removed_once() {
        let mut random = 1u64;
        let mut address = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 20) as usize & !15 | 1 << 44
        };
        let addresses: Vec<usize> = (0..150_000).map(|_| address()).collect();
        let added: Vec<usize> = addresses.iter().copied().filter(|&address| add(address)).collect();
        // In 262,144 places: a few buckets are full, and those next to them.
        let left_out = addresses.len() - added.len();
        assert!((1..600).contains(&left_out), "{left_out}");
        assert!(added.iter().all(|&address| add(address)), "an address that is there is not added again");
        for &address in &added {
            assert!(remove(address) && !remove(address), "{address:#x}");
        }
        assert!(table().is_some_and(|table| {
            table.iter().flat_map(|bucket| &bucket.places).all(|place| place.load(Ordering::Relaxed) == 0)
        }));
    }
}
