//! The addresses of live sampled blocks. A free looks here whether its block was sampled, where the block's tag does not say that it was not.
//!
//! ```text
//! counts, a byte for each bucket: | 0 | 0 | 2 | 0 | ...      how many addresses have this bucket as their own
//! bucket of an address (one cache line):  | a | a | 0 | 0 | 0 | 0 | 0 | 0 |
//! ```
//!
//! An address has a bucket among a few, which lie in four pages, and one among many, for when that is full. A free reads the counts of
//! both, and looks into a bucket whose count is not 0; all counts together fit into the first-level cache. An address for which the bucket
//! among the many is full goes into the next one. If that is full as well, the sampled block is not followed: the sample counts among the
//! allocated bytes, but not among the live ones.
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

use crate::sys;

/// The few buckets, a power of two: with a thousand live sampled blocks, nearly all of them have their places there.
const FEW: usize = 1 << 8;
/// The many, a power of two: with 100,000, hardly any address finds no place.
const MANY: usize = 1 << 15;
/// All of them, the few first.
const BUCKETS: usize = FEW + MANY;
const PLACES: usize = 8;

#[repr(C, align(64))]
struct Bucket {
    places: [AtomicU64; PLACES],
}

/// For each bucket, at least the number of addresses in the table that are there because it is their own.
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

/// The numbers of an address's two buckets.
fn homes(address: usize) -> [usize; 2] {
    let hash = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let among = |buckets: usize| (hash >> (u64::BITS - buckets.ilog2())) as usize;
    [among(FEW), FEW + among(MANY)]
}

/// The places in which an address may be that has `home` as its own: those of that bucket, and of the next among the many.
fn places(table: &[Bucket], home: usize) -> impl Iterator<Item = &AtomicU64> {
    let next = home.checked_sub(FEW).map(|number| &table[FEW + (number + 1) % MANY]);
    table[home].places.iter().chain(next.into_iter().flat_map(|bucket| &bucket.places))
}

/// Adds the address of a live block. (It is there already when a block is sampled again because it grew.) `false` when
/// there is no room.
pub fn add(address: usize) -> bool {
    let Some(table) = table_or_map() else { return false };
    let wanted = address as u64;
    let is_there = |home: usize| {
        COUNTS[home].load(Ordering::Relaxed) != 0
            && places(table, home).any(|place| place.load(Ordering::Relaxed) == wanted)
    };
    homes(address).into_iter().any(is_there) || homes(address).into_iter().any(|home| put(table, wanted, home))
}

/// Puts an address into a free place of `home`. `false` when there is none.
fn put(table: &[Bucket], address: u64, home: usize) -> bool {
    // The count grows before the address is there, so that no free misses the address.
    COUNTS[home].fetch_add(1, Ordering::Relaxed);
    let free = |place: &AtomicU64| place.compare_exchange(0, address, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    let added = places(table, home).any(free);
    if !added {
        COUNTS[home].fetch_sub(1, Ordering::Relaxed);
    }
    added
}

/// Removes the address of a block that is about to be freed. Returns whether it was there.
#[inline]
pub fn remove(address: usize) -> bool {
    homes(address).into_iter().any(|home| COUNTS[home].load(Ordering::Relaxed) != 0 && take_out(address, home))
}

#[cold]
fn take_out(address: usize, home: usize) -> bool {
    let Some(table) = table() else { return false };
    let wanted = address as u64;
    let held = places(table, home).find(|place| place.load(Ordering::Relaxed) == wanted);
    if let Some(place) = held {
        place.store(0, Ordering::Release);
        COUNTS[home].fetch_sub(1, Ordering::Relaxed);
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
        let few: Vec<usize> = (0..1_000).map(|_| address()).collect();
        assert!(few.iter().all(|&address| add(address)));
        let taken = |buckets: &[Bucket]| {
            buckets.iter().flat_map(|bucket| &bucket.places).filter(|place| place.load(Ordering::Relaxed) != 0).count()
        };
        // On average four of eight places of each of the 256 buckets.
        assert!(taken(&table().expect("there is one")[..FEW]) > 950);
        assert!(few.iter().all(|&address| remove(address)));
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
