//! A site: one stack in one scope, and what its samples add up to.
use alloc_timeline::SiteSums;

use crate::amount::positive;
use crate::high_water::{AmountAtPeaks, HighWaterMarks, Span};
use crate::scope::ScopeId;
use crate::site_table::SiteRow;

/// See the module's description.
#[derive(Debug)]
pub struct Site {
    stack: u32,
    scope: ScopeId,
    samples: u64,
    allocated: u64,
    /// Of `allocated`, in bytes squared.
    variance: f64,
    /// Thousandths of a block.
    milliblocks: u64,
    /// Usable bytes that are live, and, as blocks, the samples that they come from.
    pub amount: AmountAtPeaks,
}

impl Site {
    /// No sample has been taken there yet.
    pub fn new(stack: u32, scope: ScopeId) -> Self {
        let (samples, allocated, milliblocks, amount) = Default::default();
        Site { stack, scope, samples, allocated, variance: 0.0, milliblocks, amount }
    }

    /// A sample of a block of `bytes`, or of so many that were added to one, stands for `weight` bytes.
    pub fn add(&mut self, bytes: u64, weight: u64, fresh: bool) {
        self.samples += 1;
        self.allocated += weight;
        if fresh {
            self.milliblocks += (weight as f64 / bytes as f64 * 1000.0).round() as u64;
        }
        // An unbiased estimate of the variance: with probability p a block of p w bytes stands for w.
        self.variance += weight as f64 * weight.saturating_sub(bytes) as f64;
    }

    /// The site as the table has it.
    pub fn row(&self, marks: &HighWaterMarks) -> SiteRow {
        let (peak, live) = (self.amount.at(Span::Session, marks), self.amount.live());
        let sums = SiteSums {
            samples: self.samples,
            allocated_bytes: self.allocated,
            error_bytes: self.variance.sqrt().round() as u64,
            allocated_blocks: (self.milliblocks + 500) / 1000,
            peak_bytes: positive(peak.usable),
            exit_bytes: positive(live.usable),
            exit_samples: positive(live.blocks),
        };
        SiteRow { stack: self.stack, scope: self.scope, sums }
    }
}
