//! Histograms of the followed blocks: how large they are and how long they live, in powers of two, by category.
use alloc_timeline::{Bucket, Category, Histogram, Sums};

use crate::amount::Amount;

const BUCKETS: usize = 64;
const CATEGORIES: usize = Category::ALL.len();

/// Blocks by the power of two of something.
type Buckets = [Sums; BUCKETS];

#[derive(Debug)]
struct OfCategory {
    /// The freed ones by size.
    freed: Buckets,
    /// The live ones by size.
    held: Buckets,
    /// The freed ones by lifetime.
    lifetimes: Buckets,
}

/// See the module's description.
#[derive(Debug)]
pub struct Histograms {
    by_category: Box<[OfCategory; CATEGORIES]>,
}

impl Default for Histograms {
    fn default() -> Self {
        let none = [Sums::default(); BUCKETS];
        let empty = |_| OfCategory { freed: none, held: none, lifetimes: none };
        Histograms { by_category: Box::new(std::array::from_fn(empty)) }
    }
}

/// The bucket of `value`: that of the power of two at or below it.
fn bucket(value: u64) -> usize {
    (value | 1).ilog2() as usize
}

fn change(sums: &mut Sums, amount: Amount) {
    sums.usable_bytes = sums.usable_bytes.wrapping_add_signed(amount.usable);
    sums.requested_bytes = sums.requested_bytes.wrapping_add_signed(amount.requested);
    sums.blocks = sums.blocks.wrapping_add_signed(amount.blocks);
}

impl Histograms {
    /// A block of this category and size is live.
    pub fn add_held(&mut self, category: Category, block: Amount) {
        change(&mut self.by_category[category as usize].held[bucket(block.usable as u64)], block);
    }

    /// Undoes [`Histograms::add_held`].
    pub fn remove_held(&mut self, category: Category, block: Amount) {
        change(&mut self.by_category[category as usize].held[bucket(block.usable as u64)], -block);
    }

    /// A block of this category and size was freed after so many nanoseconds.
    pub fn add_freed(&mut self, category: Category, block: Amount, lifetime_ns: u64) {
        let histograms = &mut self.by_category[category as usize];
        change(&mut histograms.freed[bucket(block.usable as u64)], block);
        change(&mut histograms.lifetimes[bucket(lifetime_ns)], block);
    }

    /// As the file has them; categories without blocks are left out.
    pub fn table(&self) -> Vec<Histogram> {
        let histogram = |(category, of): (&Category, &OfCategory)| {
            let sizes: Vec<Sums> = of.freed.iter().zip(&of.held).map(|(&a, &b)| [a, b].into_iter().collect()).collect();
            let held: Sums = of.held.iter().copied().collect();
            let sizes = buckets(&sizes);
            let lifetimes = buckets(&of.lifetimes);
            (!sizes.is_empty()).then_some(Histogram { category: *category, sizes, lifetimes, held })
        };
        Category::ALL.iter().zip(self.by_category.iter()).filter_map(histogram).collect()
    }
}

/// The buckets with blocks, as the file has them.
fn buckets(all: &[Sums]) -> Vec<Bucket> {
    let from = |index: usize| if index == 0 { 0 } else { 1u64 << index };
    let filled = all.iter().enumerate().filter(|(_, sums)| sums.blocks > 0);
    filled.map(|(index, &sums)| Bucket { from: from(index), sums }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn block(usable: i64) -> Amount {
        Amount { usable, requested: usable - 1, blocks: 1 }
    }

    #[test]
    fn a_power_of_two_begins_its_bucket() {
        for (value, from) in [(0, 0), (1, 0), (2, 2), (3, 2), (4, 4), (4095, 2048), (4096, 4096), (u64::MAX, 1 << 63)] {
            let mut all = vec![Sums::default(); BUCKETS];
            all[bucket(value)].blocks = 1;
            assert_eq!(buckets(&all)[0].from, from, "{value}");
        }
    }

    proptest! {
        /// Sizes count every block once, lifetimes every freed one, to the byte.
        #[test]
        fn buckets_sum_to_the_blocks(
            blocks in prop::collection::vec((0..CATEGORIES, 1..1i64 << 40, prop::option::of(any::<u64>())), 0..200),
        ) {
            let mut histograms = Histograms::default();
            let (mut all, mut freed) = (Amount::default(), Amount::default());
            for &(category, usable, lifetime) in &blocks {
                let (category, block) = (Category::ALL[category], block(usable));
                all += block;
                histograms.add_held(category, block);
                if let Some(lifetime) = lifetime {
                    freed += block;
                    histograms.remove_held(category, block);
                    histograms.add_freed(category, block, lifetime);
                }
            }
            let table = histograms.table();
            let sum = |of: fn(&Histogram) -> &Vec<Bucket>| -> Sums { table.iter().flat_map(of).map(|b| b.sums).collect() };
            let as_sums = |amount: Amount| Sums {
                usable_bytes: amount.usable as u64,
                requested_bytes: amount.requested as u64,
                blocks: amount.blocks as u64,
            };
            prop_assert_eq!(sum(|one| &one.sizes), as_sums(all));
            prop_assert_eq!(sum(|one| &one.lifetimes), as_sums(freed));
            let mut held: Sums = table.iter().map(|one| one.held).collect();
            held += as_sums(freed);
            prop_assert_eq!(held, as_sums(all));
            for one in &table {
                prop_assert!(one.sizes.windows(2).all(|pair| pair[0].from < pair[1].from));
            }
        }
    }
}
