//! Which scope owns each block of a device, by the block's address: what a label and an operator's layer ask for.
//!
//! ```text
//! bucket of an address (one cache line):  | address, scope | address, scope | 0 | 0 | 0 | 0 | 0 | 0 |
//! ```
//!
//! Blocks of a device are large and few, so a table of one size will do. A block whose bucket is full is not entered: its
//! bytes count as ever, and what asks for its owner gets no answer. The addresses of all devices are in one table, because
//! those who ask have no device; with CUDA's unified addressing no two are the same.
use std::sync::atomic::{AtomicU64, Ordering};

use alloc_replay::ScopeId;

/// The number of buckets, a power of two: room for 32,768 blocks, in 256 KiB that stay untouched without a device.
const BUCKETS: usize = 1 << 12;
const PLACES: usize = 8;
/// Every block is aligned to at least this many bits; what is left of an address, with a scope, is one word.
const ALIGNED_BITS: u32 = 4;
const ADDRESS_BITS: u32 = u64::BITS - ScopeId::BITS;

#[repr(C, align(64))]
struct Bucket([AtomicU64; PLACES]);

static BUCKET_TABLE: [Bucket; BUCKETS] = [const { Bucket([const { AtomicU64::new(0) }; PLACES]) }; BUCKETS];

/// The addresses that the table occupies.
pub fn range() -> (usize, usize) {
    let start = BUCKET_TABLE.as_ptr().addr();
    (start, start + size_of_val(&BUCKET_TABLE))
}

/// The address as it stands in an entry, and its bucket; `None` for one that does not fit.
fn place(address: u64) -> Option<(u64, &'static Bucket)> {
    let short = address >> ALIGNED_BITS;
    if short == 0 || short >> ADDRESS_BITS != 0 || short << ALIGNED_BITS != address {
        return None;
    }
    let hash = short.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - BUCKETS.ilog2());
    Some((short, &BUCKET_TABLE[hash as usize]))
}

fn find(bucket: &Bucket, short: u64) -> Option<(&AtomicU64, u64)> {
    let mut entries = bucket.0.iter().map(|entry| (entry, entry.load(Ordering::Relaxed)));
    entries.find(|&(_, held)| held >> ScopeId::BITS == short)
}

/// `scope` owns the block at `address` from now on.
pub fn put(address: u64, scope: ScopeId) {
    let Some((short, bucket)) = place(address) else { return };
    let entry = short << ScopeId::BITS | u64::from(scope);
    match find(bucket, short) {
        Some((held, _)) => held.store(entry, Ordering::Relaxed),
        None => {
            let claim =
                |free: &AtomicU64| free.compare_exchange(0, entry, Ordering::Relaxed, Ordering::Relaxed).is_ok();
            // Where no place is free, the owner stays unknown.
            let _ = bucket.0.iter().any(claim);
        }
    }
}

/// The block at `address` is freed.
pub fn take(address: u64) {
    if let Some((held, _)) = place(address).and_then(|(short, bucket)| find(bucket, short)) {
        held.store(0, Ordering::Relaxed);
    }
}

/// The scope that owns the block at `address`; `None` when none is known there.
pub fn get(address: u64) -> Option<ScopeId> {
    let (short, bucket) = place(address)?;
    find(bucket, short).map(|(_, entry)| entry as ScopeId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_known_from_put_to_take() {
        let address = 0x7f12_3456_7800;
        assert_eq!(get(address), None);
        put(address, 7);
        put(address + 512, ScopeId::MAX);
        assert_eq!([get(address), get(address + 512), get(address + 16)], [Some(7), Some(ScopeId::MAX), None]);
        put(address, 9);
        assert_eq!(get(address), Some(9));
        take(address);
        take(address + 512);
        assert_eq!([get(address), get(address + 512)], [None; 2]);
    }

    /// What does not fit into a word is not entered, and never mistaken for another.
    #[test]
    fn addresses_that_do_not_fit_are_unknown() {
        for address in [0, 8, 0x1001, 1 << 52] {
            put(address, 3);
            assert_eq!(get(address), None, "{address:#x}");
        }
    }

    #[test]
    fn a_full_bucket_leaves_a_block_out() {
        let first = place(1 << 40).expect("fits").1;
        let same = |&address: &u64| place(address).is_some_and(|(_, bucket)| std::ptr::eq(bucket, first));
        let addresses: Vec<u64> = (0..).map(|n| (1 << 40) + (n << 9)).filter(same).take(PLACES + 1).collect();
        addresses.iter().for_each(|&address| put(address, 5));
        let known = addresses.iter().filter(|&&address| get(address) == Some(5)).count();
        assert_eq!(known, PLACES);
        addresses.iter().for_each(|&address| take(address));
    }
}
