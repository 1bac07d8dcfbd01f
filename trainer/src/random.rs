//! Random numbers that are the same for a seed on every machine and in every version.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood, 2014). It is written out instead of taken from a library for that
//! reason. libtorch has a generator of its own, for weights and noise.

/// A seeded generator.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// The generator of `seed`.
    pub(crate) fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// The next 64 bits.
    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0..`bound` but for a bias below `bound` / 2^64.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let product = u128::from(self.bits()) * bound as u128;
        (product >> 64) as usize
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    pub(crate) fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published generator's first numbers for seed 0.
    #[test]
    fn the_generator_is_the_published_one() {
        let mut random = Random::new(0);
        assert_eq!(random.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.bits(), 0x6e78_9e6a_a1b9_65f4);
    }

    /// 0xe220a8397b1dcdaf / 2^64 is 0.8833...: of 100 the 88th, and as a share the same.
    #[test]
    fn ranges() {
        assert_eq!(Random::new(0).below(100), 88);
        assert!((Random::new(0).share() - 0.8833).abs() < 1e-4);
    }
}
