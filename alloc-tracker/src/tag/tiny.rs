//! Tags of tiny blocks: of requests of up to 16 bytes. Most of them get a block of 8 or 16 bytes, to which a single
//! entry of the shadow map belongs.
//!
//! The entry has 15 bits for the tag, and a scope number alone takes 15. So the pairs of scope and size that really
//! occur are numbered as they appear, and the tag is that number. A program uses two or three tiny sizes in a scope, so
//! the 32,768 numbers last for some ten thousand scopes; blocks of further pairs are counted under `other scopes`.
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use alloc_replay::{OTHER_SCOPES, ScopeId, TRACKER};

use super::shadow::TINY;
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

/// The tag of each pair of scope and code, by [`place`]; 0 while it has none. There is a row for each plain tag, which is 1 +
/// scope, and for the entries from 0 to [`TINY`] that are none: those stay without tags.
static TAG_OF: [AtomicU16; PLACES] = [const { AtomicU16::new(0) }; PLACES];
const PLACES: usize = (TINY as usize + 1) * CODES;
const _: () = assert!(MAX_SCOPES < TINY as usize);
/// What each tag stands for, as [`pack`] packs it.
static PAIR_OF: [AtomicU32; MAX_TAGS] = [const { AtomicU32::new(0) }; MAX_TAGS];
/// The next tag that no pair has.
static NEXT: AtomicU32 = AtomicU32::new(1);
/// In `TAG_OF`: the pair came when the numbers were used up.
const FULL: u16 = u16::MAX;

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

/// The tag of a block for which [`is_tiny`] holds.
pub fn tag(scope: ScopeId, requested: usize, usable: usize) -> u16 {
    match usable {
        32 => tag_of(scope, IN_32 + requested),
        16 if requested <= 8 => tag_of(scope, IN_16 + requested),
        _ => tag_of(scope, requested),
    }
}

/// The tags of `scope`'s blocks of natural alignment, by requested bytes, 0 to 16; for [`known`].
pub fn row(scope: ScopeId) -> &'static Row {
    TAG_OF[place(scope, 0)..].first_chunk().unwrap_or(&NO_ROW)
}

/// Tags by requested bytes, see [`row`].
pub type Row = [AtomicU16; TINY_MAX + 1];
/// A row without tags.
pub static NO_ROW: Row = [const { AtomicU16::new(0) }; TINY_MAX + 1];

/// Where the tag of a pair stands in [`TAG_OF`].
fn place(scope: ScopeId, code: usize) -> usize {
    (usize::from(scope) + 1) * CODES + code
}

/// The tag of a block of at most [`TINY_MAX`] requested bytes. `None` for the first block of its scope and size, and for one that
/// may be counted under `other scopes`.
///
/// # Safety
/// `requested` must be at most [`TINY_MAX`].
#[inline(always)]
pub unsafe fn known(row: &Row, requested: usize) -> Option<u16> {
    debug_assert!(requested <= TINY_MAX);
    // SAFETY: a row has TINY_MAX + 1 tags, and the size is at most TINY_MAX, as the caller promises.
    let tag = unsafe { row.get_unchecked(requested) }.load(Ordering::Acquire);
    // 0 means that there is no tag yet, and only FULL has the top bit.
    (tag as i16 > 0).then_some(tag)
}

/// The first entry of a block of natural alignment for a request of so many bytes, by its scope's plain tag. An entry that no
/// block has when none had a tag, or when the numbers were used up. (No tag has the number 0, nor that of [`FULL`].)
///
/// # Safety
/// `plain` must be at most [`TINY`], and `requested` at most [`TINY_MAX`].
#[inline(always)]
pub unsafe fn entry(plain: u16, requested: usize) -> u16 {
    debug_assert!(plain <= TINY && requested <= TINY_MAX);
    // SAFETY: as the caller promises; `PLACES` counts a row for each of these plain tags.
    TINY | unsafe { TAG_OF.get_unchecked(usize::from(plain) * CODES + requested) }.load(Ordering::Relaxed)
}

fn tag_of(scope: ScopeId, code: usize) -> u16 {
    match TAG_OF.get(place(scope, code)).map_or(FULL, |tag| tag.load(Ordering::Acquire)) {
        FULL => overflow(scope, code),
        0 => number(scope, code),
        tag => tag,
    }
}

/// Whether `tag` stands for a block that is counted under `other scopes`, whichever scope allocated it.
pub fn is_others(tag: u16) -> bool {
    usize::from(tag) % MAX_TAGS >= OTHERS
}

/// What `tag` stands for.
#[inline(always)]
pub fn pair(tag: u16) -> Tiny {
    let packed = PAIR_OF[usize::from(tag) % MAX_TAGS].load(Ordering::Relaxed);
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
    [range(TAG_OF.as_ptr().addr(), size_of_val(&TAG_OF)), range(PAIR_OF.as_ptr().addr(), size_of_val(&PAIR_OF))]
}

fn describe(tag: usize, scope: ScopeId, code: usize) {
    PAIR_OF[tag].store(pack(scope, code), Ordering::Relaxed);
}

fn number(scope: ScopeId, code: usize) -> u16 {
    let fresh = NEXT.fetch_add(1, Ordering::Relaxed);
    if fresh as usize >= TRACKERS {
        NEXT.store(TRACKERS as u32, Ordering::Relaxed);
        TAG_OF[place(scope, code)].store(FULL, Ordering::Relaxed);
        return overflow(scope, code);
    }
    describe(fresh as usize, scope, code);
    // If two threads number one pair at the same moment, both numbers stand for it, and later blocks use one of the
    // two.
    TAG_OF[place(scope, code)].store(fresh as u16, Ordering::Release);
    fresh as u16
}

fn overflow(scope: ScopeId, code: usize) -> u16 {
    let (owner, tag) = if scope == TRACKER { (TRACKER, TRACKERS + code) } else { (OTHER_SCOPES, OTHERS + code) };
    describe(tag, owner, code);
    tag as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scope 78 has a tag for 5 bytes at natural alignment and one for 8 bytes in a block of 16.
    #[test]
    fn entries_are_those_of_natural_blocks() {
        let [natural, aligned] = [tag(78, 5, 8), tag(78, 8, 16)];
        // SAFETY: the plain tags are at most TINY, and the sizes at most TINY_MAX.
        let entry = |plain, requested| unsafe { entry(plain, requested) };
        assert_eq!((entry(79, 5), entry(79, 8)), (TINY | natural, TINY));
        assert_ne!(natural, aligned);
        // Nothing is freed where no scope has this plain tag: 0 is a slot's zeroed memory, TINY a closed lane's.
        for plain in [0, MAX_SCOPES as u16 + 1, TINY] {
            assert!((0..=TINY_MAX).all(|requested| entry(plain, requested) == TINY));
        }
    }

    #[test]
    fn a_tag_gives_back_its_pair() {
        assert!(!is_tiny(17, 32) && !is_tiny(16, 48) && !is_tiny(9, 8));
        for (requested, usable) in [(0, 8), (1, 8), (8, 8), (9, 16), (16, 16), (8, 16), (0, 16), (0, 32), (16, 32)] {
            assert!(is_tiny(requested, usable));
            let back = pair(tag(77, requested, usable));
            assert_eq!(back, Tiny { scope: 77, requested, usable });
        }
    }
}
