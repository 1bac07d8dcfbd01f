//! Tags of blocks of 8 and 16 bytes, which have room for one shadow entry only.
//!
//! The entry has 15 bits; a scope number alone takes 15. So the pairs (scope, requested size) that really occur are
//! numbered as they appear. Programs use two or three tiny sizes a scope, so 32,768 numbers last for some ten thousand
//! scopes; further pairs are counted under `other scopes`.
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use super::scope::{self, ScopeId};

/// Requested sizes 0..=16 by class, and 0..=8 once more for requests that an alignment lifted into the 16-byte class.
const CODES: usize = 32;
const LIFTED: usize = 17;
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
    /// Usable bytes: 8 or 16.
    pub usable: usize,
}

/// The tag for a block of `usable` (8 or 16) bytes of which `requested` were asked for.
#[inline]
pub fn tag(scope: ScopeId, requested: usize, usable: usize) -> u16 {
    let code = if usable == 16 && requested <= 8 { LIFTED + requested } else { requested };
    tag_of(scope, code)
}

/// The same for a block of natural alignment; `requested` must be at most 16.
#[inline(always)]
pub fn plain_tag(scope: ScopeId, requested: usize) -> u16 {
    debug_assert!(requested <= 16);
    tag_of(scope, requested)
}

#[inline(always)]
fn tag_of(scope: ScopeId, code: usize) -> u16 {
    let pair = usize::from(scope) * CODES + code % CODES;
    let tag = TAG_OF.get(pair).map_or(FULL, |tag| tag.load(Ordering::Acquire));
    // 0 and FULL are the two values of 16 bits that are no tag.
    if tag.wrapping_sub(1) < FULL - 1 { tag } else { unusual(pair, tag) }
}

#[cold]
#[inline(never)]
fn unusual(pair: usize, tag: u16) -> u16 {
    if tag == FULL { overflow(pair) } else { number(pair) }
}

/// Whether the block of `tag` counts as `other scopes`', whoever allocated it.
#[inline(always)]
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
    let (requested, usable) = if code >= LIFTED { (code - LIFTED, 16) } else { (code, if code <= 8 { 8 } else { 16 }) };
    u32::from(scope) | (requested as u32) << 16 | usable << 24
}

/// The addresses that the tables occupy.
pub fn ranges() -> [(usize, usize); 2] {
    let range = |start: usize, bytes: usize| (start, start + bytes);
    [range(TAG_OF.as_ptr().addr(), size_of_val(&TAG_OF)), range(PAIR_OF.as_ptr().addr(), size_of_val(&PAIR_OF))]
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
    PAIR_OF[fresh as usize].store(pack((pair / CODES) as ScopeId, pair % CODES), Ordering::Relaxed);
    // Two threads may number one pair at the same moment: both numbers stand for it, and later blocks use one of them.
    TAG_OF[pair].store(fresh as u16, Ordering::Release);
    fresh as u16
}

fn overflow(pair: usize) -> u16 {
    let (owner, code) = (pair / CODES, pair % CODES);
    let tracker = owner == usize::from(scope::TRACKER);
    let (scope, tag) = if tracker { (scope::TRACKER, TRACKERS + code) } else { (scope::OTHER_SCOPES, OTHERS + code) };
    PAIR_OF[tag].store(pack(scope, code), Ordering::Relaxed);
    tag as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_gives_back_its_pair() {
        for (requested, usable) in [(0, 8), (1, 8), (8, 8), (9, 16), (16, 16), (8, 16), (0, 16)] {
            let back = pair(tag(77, requested, usable));
            assert_eq!(back, Tiny { scope: 77, requested, usable });
        }
    }
}
