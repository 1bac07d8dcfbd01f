//! What samples add up to: those of one site, or those of one thread.
use alloc_timeline::SiteSums;

use crate::amount::{Amount, positive};
use crate::high_water::{AmountAtPeaks, HighWaterMarks, Span};

/// See the module's description.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    samples: u64,
    allocated: u64,
    /// Of `allocated`, in bytes squared.
    variance: f64,
    /// Thousandths of a block.
    milliblocks: u64,
    /// Usable bytes that are live, and, as blocks, the samples that they come from.
    amount: AmountAtPeaks,
}

impl Sampled {
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

    /// So many bytes, and as blocks so many samples, more are live.
    pub fn change(&mut self, amount: Amount, marks: &HighWaterMarks) {
        self.amount.change(amount, marks);
    }

    /// The bytes that are live.
    pub fn live_bytes(&self) -> i64 {
        self.amount.live().usable
    }

    /// The sums as the file has them.
    pub fn sums(&self, marks: &HighWaterMarks) -> SiteSums {
        let (peak, live) = (self.amount.at(Span::Session, marks), self.amount.live());
        SiteSums {
            samples: self.samples,
            allocated_bytes: self.allocated,
            error_bytes: self.variance.sqrt().round() as u64,
            allocated_blocks: (self.milliblocks + 500) / 1000,
            peak_bytes: positive(peak.usable),
            exit_bytes: positive(live.usable),
            exit_samples: positive(live.blocks),
        }
    }
}
