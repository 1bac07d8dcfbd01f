//! Which images come next: all of them in a random order, then all again in another one.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood, 2014). It is written out instead of taken from a library because the
//! order must be the same for a seed on every machine and in every version.

/// An endless, seeded sequence of indices below `count`.
#[derive(Debug)]
pub(super) struct Order {
    state: u64,
    /// The epoch's indices; those from `next` on are still to come.
    indices: Vec<usize>,
    next: usize,
}

impl Order {
    /// The order of `count` images for `seed`.
    pub(super) fn new(count: usize, seed: u64) -> Order {
        Order { state: seed, indices: (0..count).collect(), next: count }
    }

    /// Uniform in 0..`bound` but for a bias below `bound` / 2^64.
    fn below(&mut self, bound: usize) -> usize {
        let product = u128::from(split_mix(&mut self.state)) * bound as u128;
        (product >> 64) as usize
    }

    /// Fisher and Yates: each place gets one of those not yet placed.
    fn shuffle(&mut self) {
        for place in (1..self.indices.len()).rev() {
            let other = self.below(place + 1);
            self.indices.swap(place, other);
        }
    }
}

impl Iterator for Order {
    type Item = usize;

    /// The next index; an order of nothing ends at once, any other never.
    fn next(&mut self) -> Option<usize> {
        if self.next == self.indices.len() {
            self.shuffle();
            self.next = 0;
        }
        let index = self.indices.get(self.next).copied()?;
        self.next += 1;
        Some(index)
    }
}

/// The next number of the generator.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published generator's first numbers for seed 0.
    #[test]
    fn the_generator_is_the_published_one() {
        let mut state = 0;
        assert_eq!(split_mix(&mut state), 0xe220_a839_7b1d_cdaf);
        assert_eq!(split_mix(&mut state), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn an_epoch_has_every_image_once() {
        let order: Vec<usize> = Order::new(7, 1).take(14).collect();
        for epoch in order.chunks(7) {
            let mut epoch = epoch.to_vec();
            epoch.sort_unstable();
            assert_eq!(epoch, [0, 1, 2, 3, 4, 5, 6]);
        }
        assert_ne!(order[..7], order[7..], "the second epoch has an order of its own");
    }

    #[test]
    fn the_seed_decides() {
        let order = |seed| Order::new(100, seed).take(100).collect::<Vec<_>>();
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
