//! Tags of tiny blocks: of requests of up to 16 bytes. Most of them get a block of 8 or 16 bytes, to which a single
//! entry of the shadow map belongs.
//!
//! The entry has 15 bits for the tag, and a scope number alone takes 15. So the pairs of scope and size that really
//! occur are numbered as they appear, and the tag is that number. A program uses two or three tiny sizes in a scope, so
//! the 32,768 numbers last for some ten thousand scopes; blocks of further pairs are counted under `other scopes`.
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use alloc_replay::{OTHER_SCOPES, ScopeId, TRACKER};

use super::entries::TINY;
use crate::scope::MAX_SCOPES;

/// The largest request that gets a tiny tag, in bytes.
pub const TINY_MAX: usize = 16;
/// The sizes of tiny blocks have codes below this. Codes 0 to 16: so many requested bytes, in a block of natural
/// alignment. [`IN_16`] + 0 to 8: so many requested bytes, in a block of 16 bytes because of its alignment. [`IN_32`] +
/// 0 to 16: so many requested bytes, in a block of 32 bytes because of its alignment.
const CODES: usize = 64;
const IN_16: usize = TINY_MAX + 1;
const IN_32: usize = IN_16 + 9;
const MAX_TAGS: usize = 1 << 15;
/// From here on, the last numbers: one for each code of a block that is counted under `other scopes`.
const OTHERS: usize = MAX_TAGS - CODES;
/// From here on, before [`OTHERS`]: one number for each code of the tracker's own blocks, for when the other numbers
/// are used up. The tracker's blocks must never be counted as the program's.
const TRACKERS: usize = OTHERS - CODES;

/// The entry of each pair of scope and code, by [`place`]: its tag with the flag [`TINY`]; 0 or [`NONE`] while it has none.
static ENTRY_OF: [AtomicU16; PLACES] = [const { AtomicU16::new(0) }; PLACES];
const PLACES: usize = MAX_SCOPES * CODES;
/// What each tag stands for, as [`pack`] packs it.
static PAIR_OF: [AtomicU32; MAX_TAGS] = [const { AtomicU32::new(0) }; MAX_TAGS];
/// The next tag that no pair has.
static NEXT: AtomicU32 = AtomicU32::new(1);
/// An entry that no block has: no tag has the number 0.
pub const NONE: u16 = TINY;
/// In place of a code in [`ENTRY_OF`]: here stands [`NONE`] once no entry of the row is 0.
const IS_ROW_OF_FREES: usize = CODES - 1;
const _: () = assert!(IN_32 + TINY_MAX < IS_ROW_OF_FREES);

/// What a tiny block's tag stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiny {
    /// Its scope.
    pub scope: ScopeId,
    /// Requested bytes.
    pub requested: usize,
    /// Usable bytes: 8, 16 or 32.
    pub usable: usize,
}

/// Whether, over jemalloc, a block of `usable` bytes for a request of `requested` bytes gets a tiny tag.
pub fn is_tiny(requested: usize, usable: usize) -> bool {
    requested <= 16 && usable <= 32 && (usable >= 16 || requested <= 8)
}

/// The entry of a block for which [`is_tiny`] holds.
pub fn entry(scope: ScopeId, requested: usize, usable: usize) -> u16 {
    match usable {
        32 => entry_of(scope, IN_32 + requested),
        16 if requested <= 8 => entry_of(scope, IN_16 + requested),
        _ => entry_of(scope, requested),
    }
}

/// The entries of `scope`'s blocks of natural alignment, by requested bytes, 0 to 16; for [`known`].
pub fn row(scope: ScopeId) -> &'static Row {
    ENTRY_OF.get(place(scope, 0)..).and_then(|rows| rows.first_chunk()).unwrap_or(&NO_ROW)
}

/// [`row`], of whose entries none is 0: that is what stands where no tracked block starts.
pub fn row_of_frees(scope: ScopeId) -> &'static Row {
    let Some(last) = ENTRY_OF.get(place(scope, IS_ROW_OF_FREES)) else { return &NO_ROW };
    let row = row(scope);
    if last.load(Ordering::Acquire) != NONE {
        for entry in row {
            // Another thread may number the pair at this moment: its entry stays.
            let _ = entry.compare_exchange(0, NONE, Ordering::Relaxed, Ordering::Relaxed);
        }
        last.store(NONE, Ordering::Release);
    }
    row
}

/// Entries by requested bytes, see [`row`].
pub type Row = [AtomicU16; TINY_MAX + 1];
/// A row whose entries no block has.
pub static NO_ROW: Row = [const { AtomicU16::new(NONE) }; TINY_MAX + 1];

/// Where the entry of a pair stands in [`ENTRY_OF`].
fn place(scope: ScopeId, code: usize) -> usize {
    usize::from(scope) * CODES + code
}

/// The entry of a block of at most [`TINY_MAX`] requested bytes. `None` for the first block of its scope and size, and for one that
/// may be counted under `other scopes`.
///
/// # Safety
/// `requested` must be at most [`TINY_MAX`].
#[inline(always)]
pub unsafe fn known(row: &Row, requested: usize) -> Option<u16> {
    // SAFETY: as the caller promises.
    let entry = unsafe { in_row(row, requested) };
    (entry > NONE).then_some(entry)
}

/// The entry in a row of a block for a request of so many bytes.
///
/// # Safety
/// As for [`known`].
#[inline(always)]
pub unsafe fn in_row(row: &Row, requested: usize) -> u16 {
    debug_assert!(requested <= TINY_MAX);
    // SAFETY: a row has TINY_MAX + 1 entries, and the size is at most TINY_MAX, as the caller promises.
    unsafe { row.get_unchecked(requested) }.load(Ordering::Acquire)
}

fn entry_of(scope: ScopeId, code: usize) -> u16 {
    match ENTRY_OF.get(place(scope, code)).map(|entry| entry.load(Ordering::Acquire)) {
        Some(0 | NONE) => number(scope, code),
        Some(entry) => entry,
        None => overflow(scope, code),
    }
}

/// Whether this is the entry of a block that is counted under `other scopes`, whichever scope allocated it.
pub fn is_others(entry: u16) -> bool {
    usize::from(entry) % MAX_TAGS >= OTHERS
}

/// What an entry stands for.
#[inline(always)]
pub fn pair(entry: u16) -> Tiny {
    let packed = PAIR_OF[usize::from(entry) % MAX_TAGS].load(Ordering::Relaxed);
    Tiny { scope: packed as ScopeId, requested: (packed >> 16 & 0xff) as usize, usable: (packed >> 24) as usize }
}

/// What a tag stands for, in one number for [`pair`]: the scope in bits 0-15, requested bytes in 16-23, usable bytes
/// above.
fn pack(scope: ScopeId, code: usize) -> u32 {
    let (requested, usable) = match code {
        IN_32.. => (code - IN_32, 32),
        IN_16.. => (code - IN_16, 16),
        9.. => (code, 16),
        _ => (code, 8),
    };
    u32::from(scope) | (requested as u32) << 16 | (usable as u32) << 24
}

/// The addresses that the tables occupy.
pub fn ranges() -> [(usize, usize); 2] {
    let range = |start: usize, bytes: usize| (start, start + bytes);
    [range(ENTRY_OF.as_ptr().addr(), size_of_val(&ENTRY_OF)), range(PAIR_OF.as_ptr().addr(), size_of_val(&PAIR_OF))]
}

fn describe(tag: usize, scope: ScopeId, code: usize) {
    PAIR_OF[tag].store(pack(scope, code), Ordering::Relaxed);
}

fn number(scope: ScopeId, code: usize) -> u16 {
    let fresh = NEXT.fetch_add(1, Ordering::Relaxed);
    if fresh as usize >= TRACKERS {
        NEXT.store(TRACKERS as u32, Ordering::Relaxed);
        return overflow(scope, code);
    }
    describe(fresh as usize, scope, code);
    // If two threads number one pair at the same moment, both numbers stand for it, and later blocks use one of the
    // two.
    let entry = TINY | fresh as u16;
    ENTRY_OF[place(scope, code)].store(entry, Ordering::Release);
    entry
}

fn overflow(scope: ScopeId, code: usize) -> u16 {
    let (owner, tag) = if scope == TRACKER { (TRACKER, TRACKERS + code) } else { (OTHER_SCOPES, OTHERS + code) };
    describe(tag, owner, code);
    TINY | tag as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scope 78 has an entry for 5 bytes at natural alignment and one for 8 bytes in a block of 16, and gets one for 3 bytes after it
    /// has a row of frees.
    #[test]
    fn rows_have_the_entries_of_natural_blocks() {
        let [natural, aligned] = [entry(78, 5, 8), entry(78, 8, 16)];
        assert!(natural > NONE && aligned > NONE && natural != aligned);
        // SAFETY: the sizes are at most TINY_MAX.
        let in_row = |row, requested| unsafe { in_row(row, requested) };
        assert_eq!([5, 8].map(|requested| in_row(row(78), requested)), [natural, 0]);
        assert_eq!([5, 8].map(|requested| in_row(row_of_frees(78), requested)), [natural, NONE]);
        let later = entry(78, 3, 8);
        assert!(later > NONE && later != natural);
        assert_eq!(in_row(row_of_frees(78), 3), later);
        // SAFETY: as above.
        assert_eq!([3, 5, 8].map(|requested| unsafe { known(row(78), requested) }), [Some(later), Some(natural), None]);
    }

    /// Scope 77 has no entry, and no scope has the number 65,535.
    #[test]
    fn no_block_has_the_entries_of_a_row_without_tags() {
        // SAFETY: the sizes are at most TINY_MAX.
        let in_row = |row, requested| unsafe { in_row(row, requested) };
        for row in [row_of_frees(77), row_of_frees(ScopeId::MAX), row(ScopeId::MAX)] {
            assert!((0..=TINY_MAX).all(|requested| in_row(row, requested) == NONE));
        }
    }

    #[test]
    fn a_tag_gives_back_its_pair() {
        assert!(!is_tiny(17, 32) && !is_tiny(16, 48) && !is_tiny(9, 8));
        for (requested, usable) in [(0, 8), (1, 8), (8, 8), (9, 16), (16, 16), (8, 16), (0, 16), (0, 32), (16, 32)] {
            assert!(is_tiny(requested, usable));
            let back = pair(entry(79, requested, usable));
            assert_eq!(back, Tiny { scope: 79, requested, usable });
        }
    }
}
