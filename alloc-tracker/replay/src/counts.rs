//! How large a block is, and the seven counters that every scope has.
use std::ops::{AddAssign, Neg};

/// How large a block is, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSize {
    /// What the allocator set aside.
    pub usable: u64,
    /// What the program asked for.
    pub requested: u64,
}

/// What one scope did, or how that changed. All arithmetic wraps, so that a change can be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Usable bytes allocated.
    pub allocated: u64,
    /// Usable bytes freed.
    pub freed: u64,
    /// Requested bytes allocated.
    pub requested: u64,
    /// Requested bytes freed.
    pub requested_freed: u64,
    /// Blocks allocated.
    pub allocations: u64,
    /// Blocks freed.
    pub frees: u64,
    /// Blocks that this count took over without an allocation (from another scope, or from those that are followed by
    /// address), less those that it gave away. Wraps below zero.
    pub moved_in: u64,
}

impl Counts {
    /// How many counters there are.
    pub const LEN: usize = 7;

    /// The counters in the order of the fields.
    #[inline(always)]
    pub const fn to_array(self) -> [u64; Counts::LEN] {
        let Counts { allocated, freed, requested, requested_freed, allocations, frees, moved_in } = self;
        [allocated, freed, requested, requested_freed, allocations, frees, moved_in]
    }

    /// The counters from an array in the order of the fields.
    #[inline(always)]
    pub const fn from_array(counters: [u64; Counts::LEN]) -> Counts {
        let [allocated, freed, requested, requested_freed, allocations, frees, moved_in] = counters;
        Counts { allocated, freed, requested, requested_freed, allocations, frees, moved_in }
    }

    /// One block was allocated.
    #[inline(always)]
    pub const fn allocation(size: BlockSize) -> Counts {
        Counts { allocations: 1, ..Counts::bytes_in(size) }
    }

    /// One block was freed.
    #[inline(always)]
    pub const fn free(size: BlockSize) -> Counts {
        Counts { freed: size.usable, requested_freed: size.requested, frees: 1, ..Counts::ZERO }
    }

    /// One live block was taken over from another count; its negative gives it away.
    #[inline(always)]
    pub const fn take_over(size: BlockSize) -> Counts {
        Counts { moved_in: 1, ..Counts::bytes_in(size) }
    }

    /// One block changed its size: what it grew by was allocated, what it shrank by was freed.
    #[inline(always)]
    pub const fn resize(before: BlockSize, after: BlockSize) -> Counts {
        Counts {
            allocated: after.usable.saturating_sub(before.usable),
            freed: before.usable.saturating_sub(after.usable),
            requested: after.requested.saturating_sub(before.requested),
            requested_freed: before.requested.saturating_sub(after.requested),
            ..Counts::ZERO
        }
    }

    const ZERO: Counts = Counts::from_array([0; Counts::LEN]);

    #[inline(always)]
    const fn bytes_in(size: BlockSize) -> Counts {
        Counts { allocated: size.usable, requested: size.requested, ..Counts::ZERO }
    }

    /// Usable bytes not yet freed; negative where a thread frees what another allocated.
    pub const fn live(&self) -> i64 {
        self.allocated.wrapping_sub(self.freed) as i64
    }

    /// Requested bytes not yet freed.
    pub const fn live_requested(&self) -> i64 {
        self.requested.wrapping_sub(self.requested_freed) as i64
    }

    /// Blocks not yet freed.
    pub const fn live_blocks(&self) -> i64 {
        self.allocations.wrapping_add(self.moved_in).wrapping_sub(self.frees) as i64
    }
}

impl AddAssign for Counts {
    #[inline]
    fn add_assign(&mut self, other: Counts) {
        let mut sums = self.to_array();
        sums.iter_mut().zip(other.to_array()).for_each(|(sum, part)| *sum = sum.wrapping_add(part));
        *self = Counts::from_array(sums);
    }
}

impl Neg for Counts {
    type Output = Counts;

    #[inline]
    fn neg(self) -> Counts {
        Counts::from_array(self.to_array().map(u64::wrapping_neg))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: BlockSize = BlockSize { usable: 112, requested: 100 };
    const LARGE: BlockSize = BlockSize { usable: 160, requested: 150 };

    /// Allocated with 100 bytes, grown to 150, freed: 112 + 48 usable and 100 + 50 requested bytes came and went.
    #[test]
    fn a_blocks_life_leaves_nothing_live() {
        let mut counts = Counts::allocation(SMALL);
        assert_eq!((counts.live(), counts.live_requested(), counts.live_blocks()), (112, 100, 1));
        counts += Counts::resize(SMALL, LARGE);
        assert_eq!((counts.live(), counts.live_requested(), counts.live_blocks()), (160, 150, 1));
        counts += Counts::free(LARGE);
        assert_eq!((counts.live(), counts.live_requested(), counts.live_blocks()), (0, 0, 0));
        assert_eq!((counts.allocated, counts.requested), (160, 150));
        let shrunk = Counts::resize(LARGE, SMALL);
        assert_eq!((shrunk.freed, shrunk.requested_freed, shrunk.allocated), (48, 50, 0));
    }

    #[test]
    fn what_is_given_away_is_the_negative_of_what_is_taken_over() {
        let mut counts = Counts::take_over(SMALL);
        assert_eq!((counts.live_blocks(), counts.allocations), (1, 0));
        counts += -Counts::take_over(SMALL);
        assert_eq!(counts, Counts::default());
    }

    #[test]
    fn an_array_has_the_order_of_the_fields() {
        let array = [1, 2, 3, 4, 5, 6, 7];
        let counts = Counts::from_array(array);
        assert_eq!((counts.allocated, counts.moved_in), (1, 7));
        assert_eq!(counts.to_array(), array);
    }
}
