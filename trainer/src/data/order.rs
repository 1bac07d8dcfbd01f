//! Which images come next: all of them in a random order, then all again in another one.
use crate::random::Random;

/// An endless, seeded sequence of indices.
#[derive(Debug)]
pub(super) struct Order {
    random: Random,
    /// The epoch's indices; those from `next` on are still to come.
    indices: Vec<usize>,
    next: usize,
}

impl Order {
    /// The order of `count` images for `seed`.
    pub(super) fn new(count: usize, seed: u64) -> Order {
        Order::of((0..count).collect(), seed)
    }

    /// The order of the images with these indices, each once an epoch.
    pub(super) fn of(indices: Vec<usize>, seed: u64) -> Order {
        Order { random: Random::new(seed), next: indices.len(), indices }
    }

    /// Fisher and Yates: each place gets one of those not yet placed.
    fn shuffle(&mut self) {
        for place in (1..self.indices.len()).rev() {
            let other = self.random.below(place + 1);
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn of_some_images() {
        let mut order: Vec<usize> = Order::of(vec![3, 9, 4], 1).take(3).collect();
        order.sort_unstable();
        assert_eq!(order, [3, 4, 9]);
    }

    #[test]
    fn the_seed_decides() {
        let order = |seed| Order::new(100, seed).take(100).collect::<Vec<_>>();
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
