//! How large blocks are and how long they live, in powers of two, by category.
use alloc_timeline::{Bucket, Category, Histogram, Sums};

use super::account::Amount;

const BUCKETS: usize = 64;
const CATEGORIES: usize = Category::ALL.len();

/// Blocks in powers of two of something.
type Buckets = [Sums; BUCKETS];

#[derive(Debug)]
struct One {
    /// The freed ones by size.
    freed: Buckets,
    /// The live ones by size.
    held: Buckets,
    /// The freed ones by lifetime.
    lifetimes: Buckets,
}

/// The blocks that are known by address: live ones and freed ones.
#[derive(Debug)]
pub struct Histograms {
    by_category: Box<[One; CATEGORIES]>,
}

impl Default for Histograms {
    fn default() -> Self {
        let none = [Sums::default(); BUCKETS];
        let one = || One { freed: none, held: none, lifetimes: none };
        Histograms { by_category: Box::new(std::array::from_fn(|_| one())) }
    }
}

/// The place of `value`: that of the power of two at or below it.
fn bucket(value: u64) -> usize {
    (value | 1).ilog2() as usize
}

fn change(sums: &mut Sums, amount: Amount) {
    sums.usable_bytes = sums.usable_bytes.wrapping_add_signed(amount.usable);
    sums.requested_bytes = sums.requested_bytes.wrapping_add_signed(amount.requested);
    sums.blocks = sums.blocks.wrapping_add_signed(amount.blocks);
}

impl Histograms {
    /// A block is there, of this category and size.
    pub fn holds(&mut self, category: Category, block: Amount) {
        change(&mut self.by_category[category as usize].held[bucket(block.usable as u64)], block);
    }

    /// It is not any more, of this category and size; undoes [`Histograms::holds`].
    pub fn holds_no_more(&mut self, category: Category, block: Amount) {
        change(&mut self.by_category[category as usize].held[bucket(block.usable as u64)], block.negated());
    }

    /// A block of this category and size was freed after so many nanoseconds.
    pub fn freed(&mut self, category: Category, block: Amount, lifetime_ns: u64) {
        let one = &mut self.by_category[category as usize];
        change(&mut one.freed[bucket(block.usable as u64)], block);
        change(&mut one.lifetimes[bucket(lifetime_ns)], block);
    }

    /// As the file has them; categories without blocks are left out.
    pub fn table(&self) -> Vec<Histogram> {
        let histogram = |(category, one): (&Category, &One)| {
            let sizes: Vec<Sums> =
                one.freed.iter().zip(&one.held).map(|(&a, &b)| [a, b].into_iter().collect()).collect();
            let held: Sums = one.held.iter().copied().collect();
            let sizes = buckets(&sizes);
            let lifetimes = buckets(&one.lifetimes);
            (!sizes.is_empty()).then_some(Histogram { category: *category, sizes, lifetimes, held })
        };
        Category::ALL.iter().zip(self.by_category.iter()).filter_map(histogram).collect()
    }
}

fn buckets(all: &[Sums]) -> Vec<Bucket> {
    let from = |place: usize| if place == 0 { 0 } else { 1u64 << place };
    let some = |(_, sums): &(usize, &Sums)| sums.blocks > 0;
    all.iter().enumerate().filter(some).map(|(place, &sums)| Bucket { from: from(place), sums }).collect()
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
                all.add(block);
                histograms.holds(category, block);
                if let Some(lifetime) = lifetime {
                    freed.add(block);
                    histograms.holds_no_more(category, block);
                    histograms.freed(category, block, lifetime);
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
            held.add(as_sums(freed));
            prop_assert_eq!(held, as_sums(all));
            for one in &table {
                prop_assert!(one.sizes.windows(2).all(|pair| pair[0].from < pair[1].from));
            }
        }
    }
}
