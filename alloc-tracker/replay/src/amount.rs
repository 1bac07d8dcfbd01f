//! Bytes and blocks as signed sums.
use std::ops::{AddAssign, Neg};

use crate::counts::{BlockSize, Counts};

/// Bytes and blocks. An amount can be negative for moments: what one thread freed is known by then, and what another
/// thread allocated is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub usable: i64,
    pub requested: i64,
    pub blocks: i64,
}

impl Amount {
    /// One block of this size.
    pub fn block(size: BlockSize) -> Amount {
        Amount { usable: size.usable as i64, requested: size.requested as i64, blocks: 1 }
    }

    /// What is live according to `counts`.
    pub fn live(counts: &Counts) -> Amount {
        Amount { usable: counts.live(), requested: counts.live_requested(), blocks: counts.live_blocks() }
    }

    /// What a resize adds to a block.
    pub fn resize(before: BlockSize, after: BlockSize) -> Amount {
        let mut change = Amount::block(after);
        change += -Amount::block(before);
        change
    }
}

impl AddAssign for Amount {
    #[inline]
    fn add_assign(&mut self, other: Amount) {
        self.usable += other.usable;
        self.requested += other.requested;
        self.blocks += other.blocks;
    }
}

impl Neg for Amount {
    type Output = Amount;

    #[inline]
    fn neg(self) -> Amount {
        Amount { usable: -self.usable, requested: -self.requested, blocks: -self.blocks }
    }
}

/// A sum as the file has it: one below zero is 0.
pub fn positive(sum: i64) -> u64 {
    sum.max(0) as u64
}
