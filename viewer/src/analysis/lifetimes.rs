//! Sizes and lifetimes of all categories together.
use std::collections::BTreeMap;

use alloc_timeline::{Analysis, Bucket, Histogram, Sums};
use serde::Serialize;

/// The blocks of all categories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lifetimes {
    /// By usable bytes, without gaps between the smallest and the largest.
    pub sizes: Vec<Bucket>,
    /// By nanoseconds, the same.
    pub lifetimes: Vec<Bucket>,
    /// Not freed yet.
    pub held: Sums,
    /// All: the sizes' sum, and that of the lifetimes and `held`.
    pub all: Sums,
}

/// Adds up the histograms of all categories.
pub fn lifetimes(analysis: &Analysis) -> Lifetimes {
    let all = &analysis.histograms;
    let sizes = merged(all, |histogram| &histogram.sizes);
    Lifetimes {
        all: sizes.iter().map(|bucket| bucket.sums).collect(),
        sizes,
        lifetimes: merged(all, |histogram| &histogram.lifetimes),
        held: all.iter().map(|histogram| histogram.held).collect(),
    }
}

fn merged(all: &[Histogram], of: impl Fn(&Histogram) -> &Vec<Bucket>) -> Vec<Bucket> {
    let mut sums: BTreeMap<u64, Sums> = BTreeMap::new();
    for bucket in all.iter().flat_map(of) {
        sums.entry(bucket.from).or_default().add(bucket.sums);
    }
    let (Some((&first, _)), Some((&last, _))) = (sums.first_key_value(), sums.last_key_value()) else {
        return Vec::new();
    };
    let mut from = first;
    while from < last {
        sums.entry(from).or_default();
        from = (from * 2).max(2);
    }
    sums.into_iter().map(|(from, sums)| Bucket { from, sums }).collect()
}

/// The lifetime that half of the blocks freed did not reach: the lower end of its bucket. `None` when none was freed.
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
