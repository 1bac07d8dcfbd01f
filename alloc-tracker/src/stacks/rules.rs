//! The rules that one reader knows, by the address of the code.
//!
//! ```text
//! hash of the address -> four places: | address | frame | generation, kind of rule | the rule's numbers |
//! ```
//!
//! A rule holds for one [generation](super::code_map::generation) of the code map. A new one takes the place of the one that has
//! been in its set for longest.
use super::rule::Rule;

/// The number of sets of places, a power of two. All places together are 64 KiB, of which pages become resident when they are used.
const SETS: usize = 512;
const PLACES: usize = 4;

type Place = [u64; 4];

/// What is known of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its frame, see [`CodeMap::frame`](super::code_map::CodeMap::frame).
    pub frame: u64,
    /// How to get to the caller.
    pub rule: Rule,
}

/// See the module.
#[derive(Debug)]
pub struct Rules {
    /// In each set, what was added last comes first.
    sets: Box<[[Place; PLACES]]>,
}

impl Rules {
    /// No rules.
    pub fn new() -> Self {
        Rules { sets: vec![[[0; 4]; PLACES]; SETS].into() }
    }

    /// What is known of the code at an address.
    #[inline]
    pub fn find(&self, address: u64, generation: u32) -> Option<Known> {
        let fits = |place: &&Place| place[0] == address && (place[2] >> 32) as u32 == generation;
        let &[_, frame, kind, numbers] = self.sets[set(address)].iter().find(fits)?;
        Some(Known { frame, rule: Rule::from_words([kind & 0xffff_ffff, numbers])? })
    }

    /// Adds what was found out of an address of which nothing is known.
    pub fn add(&mut self, address: u64, generation: u32, known: Known) {
        let [kind, numbers] = known.rule.to_words();
        let set = &mut self.sets[set(address)];
        set.rotate_right(1);
        set[0] = [address, known.frame, kind | u64::from(generation) << 32, numbers];
    }
}

fn set(address: u64) -> usize {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SETS.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_last_is_known() {
        let mut rules = Rules::new();
        let known = |address: u64| Known {
            frame: address + 7,
            rule: match address % 4 {
                0 => Rule::Outermost,
                1 => Rule::ByFramePointer,
                2 => Rule::ByStackPointer { bytes: u32::MAX, saved: None },
                _ => Rule::ByStackPointer { bytes: 1 << 20, saved: Some(16) },
            },
        };
        for address in 1..=10_000u64 {
            assert_eq!(rules.find(address, 1), None);
            rules.add(address, 1, known(address));
            assert_eq!(rules.find(address, 1), Some(known(address)));
        }
        let still: Vec<u64> = (1..=10_000).filter(|&address| rules.find(address, 1).is_some()).collect();
        assert!(still.iter().all(|&address| rules.find(address, 1) == Some(known(address))));
        // As many as there are places: in each of the 512 sets nearly 20 were put.
        assert_eq!(still.len(), SETS * PLACES);
        assert_eq!(rules.find(10_000, 2), None, "in another generation it is another one's");
    }
}
