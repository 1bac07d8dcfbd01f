//! Sizes and lifetimes of the blocks of all categories together.
use std::collections::BTreeMap;

use alloc_timeline::{Analysis, Bucket, Histogram, Sums};
use serde::Serialize;

/// The histograms of all blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lifetimes {
    /// Blocks by usable bytes. Empty buckets between the smallest and the largest are included.
    pub sizes: Vec<Bucket>,
    /// Freed blocks by lifetime in nanoseconds, with the empty buckets as well.
    pub lifetimes: Vec<Bucket>,
    /// The blocks that are not freed yet.
    pub held: Sums,
    /// All blocks: the sum of `sizes`, and the sum of `lifetimes` and `held`.
    pub all: Sums,
}

/// Adds up the histograms of all categories.
pub fn lifetimes(analysis: &Analysis) -> Lifetimes {
    let histograms = &analysis.histograms;
    let sizes = merged(histograms, |histogram| &histogram.sizes);
    Lifetimes {
        all: sizes.iter().map(|bucket| bucket.sums).collect(),
        sizes,
        lifetimes: merged(histograms, |histogram| &histogram.lifetimes),
        held: histograms.iter().map(|histogram| histogram.held).collect(),
    }
}

/// The buckets of all histograms summed up, with the empty ones between the first and the last.
fn merged(histograms: &[Histogram], buckets: impl Fn(&Histogram) -> &Vec<Bucket>) -> Vec<Bucket> {
    let mut sums: BTreeMap<u64, Sums> = BTreeMap::new();
    for bucket in histograms.iter().flat_map(buckets) {
        *sums.entry(bucket.from).or_default() += bucket.sums;
    }
    let (Some((&first, _)), Some((&last, _))) = (sums.first_key_value(), sums.last_key_value()) else {
        return Vec::new();
    };
    // Beyond the last power of two there is nothing to fill in, whatever a damaged file says.
    let next = |from: &u64| from.max(&1).checked_mul(2);
    for from in std::iter::successors(Some(first), next).take_while(|from| *from < last) {
        sums.entry(from).or_default();
    }
    sums.into_iter().map(|(from, sums)| Bucket { from, sums }).collect()
}

/// The lower end of the bucket with the median lifetime: half of the freed blocks lived no longer than that bucket's
/// upper end. `None` when no block was freed.
pub fn median_ns(lifetimes: &[Bucket]) -> Option<u64> {
    let all: u64 = lifetimes.iter().map(|bucket| bucket.sums.blocks).sum();
    let mut seen = 0;
    lifetimes
        .iter()
        .find(|bucket| {
            seen += bucket.sums.blocks;
            all > 0 && seen * 2 >= all
        })
        .map(|bucket| bucket.from)
}
