//! Two ways of doing the same, measured alternately: A B, B A, A B, ... so that a machine that slows down slows both.

use anyhow::Result;

/// What came out of a number of pairs. `a` is divided by `b`.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Each value of A.
    pub a: Vec<f64>,
    /// Each value of B, in the same order.
    pub b: Vec<f64>,
}

/// Measures A and B `pairs` times; which goes first changes with each pair.
pub fn interleave(
    pairs: usize,
    mut a: impl FnMut() -> Result<f64>,
    mut b: impl FnMut() -> Result<f64>,
) -> Result<Compared> {
    let mut compared = Compared { a: Vec::new(), b: Vec::new() };
    for pair in 0..pairs {
        if pair % 2 == 0 {
            compared.a.push(a()?);
            compared.b.push(b()?);
        } else {
            compared.b.push(b()?);
            compared.a.push(a()?);
        }
    }
    Ok(compared)
}

impl Compared {
    /// A / B of each pair.
    pub fn ratios(&self) -> Vec<f64> {
        self.a.iter().zip(&self.b).map(|(a, b)| a / b).collect()
    }

    /// The answer: the median of the pairs' ratios.
    pub fn ratio(&self) -> f64 {
        median(&self.ratios())
    }

    /// How far the pairs disagree: (largest - smallest) / median of their ratios.
    pub fn spread(&self) -> f64 {
        let (smallest, largest) = range(&self.ratios());
        (largest - smallest) / self.ratio()
    }
}

/// The middle value; of an even number, the mean of the middle two. NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// Smallest and largest.
pub fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn pairs_alternate_in_who_goes_first() {
        let order = RefCell::new(String::new());
        let note = |name: char, value: f64| {
            order.borrow_mut().push(name);
            Ok(value)
        };
        let compared = interleave(3, || note('a', 3.0), || note('b', 2.0)).unwrap();
        assert_eq!(order.into_inner(), "abbaab");
        assert_eq!(compared.ratio(), 1.5);
        assert_eq!(compared.spread(), 0.0);
    }

    #[test]
    fn one_disturbed_pair_does_not_move_the_answer() {
        // Ratios 1.0, 5.0, 1.0: the second pair's A met something else on the machine.
        let compared = Compared { a: vec![2.0, 10.0, 4.0], b: vec![2.0, 2.0, 4.0] };
        assert_eq!(compared.ratio(), 1.0);
        assert_eq!(compared.spread(), 4.0);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
