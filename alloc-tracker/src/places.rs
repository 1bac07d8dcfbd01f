//! In which order a table that never shrinks tries its places for an entry.
//!
//! ```text
//! | level 0: 2,048 places | level 1: 8,192 | level 2: 32,768 | ... | the last level: what is left |
//!          |16|                  |16|            |16|                  all
//! ```
//!
//! An entry takes the first free place of 16 in the first level, then of 16 in the next. So a table with few entries lies in few pages,
//! whatever it has room for. Spread over all of its places, nearly each entry would make a page resident, which takes longer than
//! everything else about it.

/// Places that are tried in one level: those of one cache line or two.
const GROUP: usize = 16;
/// Places of the first level, which are two pages where a place has 4 bytes. A smaller level would be full of the scopes of one network, and
/// each look-up would try 16 of its places in vain.
const FIRST: usize = 2_048;
/// How many times as large as a level the next one is.
const GROWTH: usize = 4;

/// The places for an entry with a hash, each once, see the module.
#[derive(Clone, Debug)]
pub struct Order {
    hash: u64,
    /// Places of the table.
    all: usize,
    /// Where the level begins, and how many places it has.
    level: (usize, usize),
    /// The next place within the level, and how many more are tried there.
    next: usize,
    left: usize,
}

/// The order in a table of so many places, a multiple of 16.
#[inline]
pub fn order(hash: u64, all: usize) -> Order {
    debug_assert!(all.is_multiple_of(GROUP));
    Order { hash, all, level: (0, 0), next: 0, left: 0 }.in_level(0, FIRST)
}

impl Order {
    /// Goes to a level that begins there, and would have so many places. Where another one would not fit, it is the last, and has what is left.
    #[inline]
    fn in_level(mut self, start: usize, size: usize) -> Self {
        let is_last = start + size + GROWTH * size > self.all;
        let size = if is_last { self.all - start } else { size };
        // The upper half of the product depends on all of the hash.
        let groups = (size / GROUP) as u64;
        let group = (u128::from(self.hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)) * u128::from(groups)) >> 64;
        self.level = (start, size);
        self.next = group as usize * GROUP;
        self.left = if is_last { size } else { GROUP };
        self
    }
}

impl Iterator for Order {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let (start, size) = self.level;
        if self.left == 0 {
            if start + size == self.all {
                return None;
            }
            *self = self.clone().in_level(start + size, GROWTH * size);
        }
        let place = self.level.0 + self.next;
        self.next = if self.next + 1 == self.level.1 { 0 } else { self.next + 1 };
        self.left -= 1;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_level_has_all_places_and_no_place_comes_twice() {
        for all in [16, 2_048, 10_240, 10_256, 65_536, 200_000] {
            for hash in [0, 1, 12_345, u64::MAX] {
                let order: Vec<usize> = order(hash, all).collect();
                let mut sorted = order.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), order.len(), "{all} {hash}");
                assert_eq!(sorted.last().copied().map(|last| last < all), Some(true));
                assert!(order.len() >= all / 2, "{} of {all}", order.len());
            }
        }
    }

    /// 1,400 entries in the first 2,048 places, 6,000 in the first 10,240: that are 8 KiB and 40 where a place has 4 bytes.
    #[test]
    fn few_entries_lie_close_together() {
        let mut taken = vec![false; 65_536];
        let mut last = 0;
        for (entry, most) in [(1_400, 2_048), (6_000, 10_240), (32_000, 65_536)] {
            while last < entry {
                last += 1;
                let place = order(last, taken.len()).find(|&place| !taken[place]).expect("it is half empty");
                taken[place] = true;
            }
            let used = taken.iter().rposition(|&taken| taken).expect("some are");
            assert!(used < most, "{entry} entries: {used}");
        }
    }
}
