//! Tags of requests of up to 16 bytes, most of which get blocks with room for one shadow entry only.
//!
//! The entry has 15 bits; a scope number alone takes 15. So the pairs (scope, requested size) that really occur are
//! numbered as they appear. Programs use two or three tiny sizes a scope, so 32,768 numbers last for some ten thousand
//! scopes; further pairs are counted under `other scopes`.
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use super::scope::{self, ScopeId};

/// Requested sizes 0..=16 by class; 0..=8 once more for requests that an alignment lifted into the 16-byte class, and
/// 0..=16 for those that it lifted to 32 bytes.
const CODES: usize = 64;
const IN_16: usize = 17;
const IN_32: usize = IN_16 + 9;
const MAX_TAGS: usize = 1 << 15;
/// The last numbers stand for `other scopes`, and those before them for the tracker, whose blocks must stay its own.
const OTHERS: usize = MAX_TAGS - CODES;
const TRACKERS: usize = OTHERS - CODES;

static TAG_OF: [AtomicU16; scope::MAX_SCOPES * CODES] = [const { AtomicU16::new(0) }; scope::MAX_SCOPES * CODES];
static PAIR_OF: [AtomicU32; MAX_TAGS] = [const { AtomicU32::new(0) }; MAX_TAGS];
static NEXT: AtomicU32 = AtomicU32::new(1);
/// Written into TAG_OF when the numbers are used up.
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

/// Whether a request and the block that it got are tagged here.
pub fn is_tiny(requested: usize, usable: usize) -> bool {
    requested <= 16 && usable <= 32 && (usable >= 16 || requested <= 8)
}

/// The tag for a block of which [`is_tiny`] holds.
pub fn tag(scope: ScopeId, requested: usize, usable: usize) -> u16 {
    match usable {
        32 => tag_of(scope, IN_32 + requested),
        16 if requested <= 8 => tag_of(scope, IN_16 + requested),
        _ => tag_of(scope, requested),
    }
}

/// The tags of `scope`'s blocks of natural alignment by requested bytes, 0 to 16, as [`known`] wants them.
pub fn row(scope: ScopeId) -> &'static Row {
    let first = usize::from(scope) * CODES;
    TAG_OF[first..].first_chunk().unwrap_or(&NO_ROW)
}

/// See [`row`].
pub type Row = [AtomicU16; 17];
/// A row without tags.
pub static NO_ROW: Row = [const { AtomicU16::new(0) }; 17];

/// The tag of a block of at most 16 bytes, unless it is the first of its kind or counts as `other scopes`'.
#[inline(always)]
pub fn known(row: &Row, requested: usize) -> Option<u16> {
    debug_assert!(requested <= 16);
    // SAFETY: callers have compared the size with 16.
    let tag = unsafe { row.get_unchecked(requested) }.load(Ordering::Acquire);
    // 0 is no tag yet, and those with the top bit are FULL.
    (tag as i16 > 0).then_some(tag)
}

fn tag_of(scope: ScopeId, code: usize) -> u16 {
    let pair = usize::from(scope) * CODES + code % CODES;
    let tag = TAG_OF.get(pair).map_or(FULL, |tag| tag.load(Ordering::Acquire));
    match tag {
        FULL => overflow(pair),
        0 => number(pair),
        tag => tag,
    }
}

/// Whether the block of `tag` counts as `other scopes`', whoever allocated it.
pub fn is_others(tag: u16) -> bool {
    usize::from(tag) % MAX_TAGS >= OTHERS
}

/// What `tag` stands for.
#[inline(always)]
pub fn pair(tag: u16) -> Tiny {
    let packed = PAIR_OF[usize::from(tag) % MAX_TAGS].load(Ordering::Relaxed);
    Tiny { scope: packed as ScopeId, requested: (packed >> 16 & 0xff) as usize, usable: (packed >> 24) as usize }
}

/// Scope in the low half, then requested and usable bytes: ready to be taken apart by [`pair`].
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

fn number(pair: usize) -> u16 {
    let fresh = NEXT.fetch_add(1, Ordering::Relaxed);
    if fresh as usize >= TRACKERS {
        NEXT.store(TRACKERS as u32, Ordering::Relaxed);
        if let Some(tag) = TAG_OF.get(pair) {
            tag.store(FULL, Ordering::Relaxed);
        }
        return overflow(pair);
    }
    describe(fresh as usize, (pair / CODES) as ScopeId, pair % CODES);
    // Two threads may number one pair at the same moment: both numbers stand for it, and later blocks use one of them.
    TAG_OF[pair].store(fresh as u16, Ordering::Release);
    fresh as u16
}

fn overflow(pair: usize) -> u16 {
    let (owner, code) = (pair / CODES, pair % CODES);
    let tracker = owner == usize::from(scope::TRACKER);
    let (scope, tag) = if tracker { (scope::TRACKER, TRACKERS + code) } else { (scope::OTHER_SCOPES, OTHERS + code) };
    describe(tag, scope, code);
    tag as u16
}

#[cfg(test)]
mod tests {
    use super::*;

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
