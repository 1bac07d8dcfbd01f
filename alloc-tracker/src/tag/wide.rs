//! Wide tags: four entries or five, which have room for all that can be said of a block.
//!
//! ```text
//!   0     WIDE                     a wide tag, with
//!                                    | line << 1   in the page layer, which 64 bytes of its page the block begins at
//!                                    | BEYOND      for requests of 1 GiB and more: five entries
//!   1     scope                      | FOLLOWED when the recorder follows the block by its address
//!   2     requested bytes, bits 0-15
//!   3     requested bytes, bits 16-29  | NATURAL when the block is of the class that its request gets at natural alignment,
//!                                        | SAMPLED when it may be one whose calls are known
//!   3, 4  requested bytes, bits 16-47, of five entries
//! ```
//!
//! A block with a wide tag has at least 64 bytes, and in the page layer at least 16 KiB, so that its first four entries are its own.
use alloc_replay::ScopeId;

use super::entries::{BEYOND, ShadowRef, WIDE};

/// Flag in the second entry: the recorder follows the block by its address.
const FOLLOWED: u16 = 0x8000;
/// Flags in the fourth entry of a wide tag with three further entries.
const NATURAL: u16 = 0x8000;
const SAMPLED: u16 = 0x4000;
/// From so many requested bytes on a wide tag has four further entries.
const BEYOND_MIN: usize = (SAMPLED as usize) << 16;
/// jemalloc begins large blocks at multiples of a cache line.
const LINE: usize = 64;
const LINES_OF_A_PAGE: usize = 64;

/// What a wide tag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide {
    /// Who owns the block.
    pub scope: ScopeId,
    /// The bytes that were asked for.
    pub requested: usize,
    /// Whether the recorder follows the block by its address.
    pub followed: bool,
    /// Whether the block may be one whose calls are known; always so for requests of 1 GiB and more.
    pub sampled: bool,
    /// Whether the block is known to be of the size class that its request gets at natural alignment; never so for requests of 1 GiB and more.
    pub natural: bool,
}

/// The entries of a block that has a wide tag, or is to have one.
#[derive(Clone, Copy)]
pub struct WideRef {
    place: ShadowRef,
    /// The first entry, without [`BEYOND`].
    first: u16,
}

impl WideRef {
    /// In the fine layer.
    pub fn fine(place: ShadowRef) -> Self {
        WideRef { place, first: WIDE }
    }

    /// In the page layer, of the block at `address`. `None` where jemalloc begins no large block.
    pub fn large(place: ShadowRef, address: usize) -> Option<Self> {
        let line = address / LINE % LINES_OF_A_PAGE;
        address.is_multiple_of(LINE).then_some(WideRef { place, first: WIDE | (line as u16) << 1 })
    }

    /// The entries, of whichever kind the tag is.
    pub fn place(self) -> ShadowRef {
        self.place
    }

    /// Writes the tag.
    pub fn store(self, tag: Wide) {
        let Wide { scope, requested, followed, sampled, natural } = tag;
        let is_beyond = requested >= BEYOND_MIN;
        let flags = if natural { NATURAL } else { 0 } | if sampled { SAMPLED } else { 0 };
        self.place.store(1, scope | if followed { FOLLOWED } else { 0 });
        self.place.store(2, requested as u16);
        self.place.store(3, (requested >> 16) as u16 | if is_beyond { 0 } else { flags });
        if is_beyond {
            self.place.store(4, (requested >> 32) as u16);
        }
        self.place.store(0, self.first | if is_beyond { BEYOND } else { 0 });
    }

    /// What [`WideRef::store`] wrote; `None` when there is no wide tag, or that of a block that begins elsewhere in the page.
    pub fn load(self) -> Option<Wide> {
        let first = self.place.load(0);
        if first & !BEYOND != self.first {
            return None;
        }
        let [second, lowest, third] = [1, 2, 3].map(|offset| self.place.load(offset));
        let (middle, beyond, flags) = if first & BEYOND != 0 {
            (third, self.place.load(4), SAMPLED)
        } else {
            (third & !(NATURAL | SAMPLED), 0, third)
        };
        let requested = usize::from(lowest) | usize::from(middle) << 16 | usize::from(beyond) << 32;
        let [followed, sampled, natural] = [second & FOLLOWED, flags & SAMPLED, flags & NATURAL].map(|flag| flag != 0);
        Some(Wide { scope: second & !FOLLOWED, requested, followed, sampled, natural })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU16;

    use super::*;
    use crate::scope::MAX_SCOPES;

    #[test]
    fn tags_come_back_and_leave_nothing() {
        let mut entries = [const { AtomicU16::new(0) }; 6];
        let place = ShadowRef(entries.as_mut_ptr());
        let lines = [0, LINE, 63 * LINE].map(|offset| WideRef::large(place, 4096 + offset).expect("a line"));
        let refs: Vec<WideRef> = std::iter::once(WideRef::fine(place)).chain(lines).collect();
        assert!(WideRef::large(place, 4096 + 16).is_none());
        let small = [0, 64, 80, 14_337, 0x3fff_ffff].map(|requested| (requested, false));
        let large = [0x4000_0000, 0xffff_ffff, 0x1_0000_0008, (1 << 47) + 12_345].map(|requested| (requested, true));
        for (requested, sampled) in small.into_iter().chain(large) {
            for (scope, followed) in [(0, false), (7, true), (MAX_SCOPES as ScopeId - 1, true)] {
                for wide in &refs {
                    let tag = Wide { scope, requested, followed, sampled, natural: false };
                    wide.store(tag);
                    let found = refs.iter().filter(|other| other.load().is_some());
                    assert!(found.clone().all(|other| other.first == wide.first) && found.count() > 0);
                    assert_eq!(wide.load(), Some(tag));
                    let with_flags = Wide { sampled: true, natural: true, ..tag };
                    wide.store(with_flags);
                    // Of a large request no flag is kept: it may be sampled, and its class is not known.
                    assert_eq!(wide.load(), Some(if sampled { tag } else { with_flags }));
                    assert_eq!(place.load_plain(), None);
                    place.clear();
                    assert!((0..6).all(|offset| place.load(offset) == 0));
                }
            }
        }
    }
}
