//! Several ways of doing the same, measured in turn: A B C, C B A, A B C, ... so that a machine that slows down slows all.

use anyhow::Result;
use trainer_statistics::{median, quantile};

/// Measures each of `count` contenders once a round, in an order that is reversed after every round. Returns the values
/// of each contender, round by round.
pub fn rounds<T>(rounds: usize, count: usize, mut measure: impl FnMut(usize) -> Result<T>) -> Result<Vec<Vec<T>>> {
    let mut values: Vec<Vec<T>> = (0..count).map(|_| Vec::with_capacity(rounds)).collect();
    for round in 0..rounds {
        for place in 0..count {
            let contender = if round % 2 == 0 { place } else { count - 1 - place };
            values[contender].push(measure(contender)?);
        }
    }
    Ok(values)
}

/// Two contenders' values. `a` is divided by `b`.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Each value of A.
    pub a: Vec<f64>,
    /// Each value of B, in the same order.
    pub b: Vec<f64>,
}

impl Compared {
    /// The values of two contenders, of which `a` is divided by `b`.
    pub fn new(a: &[f64], b: &[f64]) -> Self {
        Self { a: a.to_vec(), b: b.to_vec() }
    }

    /// A / B of each round.
    pub fn ratios(&self) -> Vec<f64> {
        self.a.iter().zip(&self.b).map(|(a, b)| a / b).collect()
    }

    /// The answer: the median of the rounds' ratios.
    pub fn ratio(&self) -> f64 {
        median(&self.ratios())
    }

    /// How far the middle half of the rounds differs: the distance of the quartiles of their ratios, over the median.
    pub fn spread(&self) -> f64 {
        let ratios = self.ratios();
        (quantile(&ratios, 0.75) - quantile(&ratios, 0.25)) / median(&ratios)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_alternate_in_who_goes_first() {
        let mut order = String::new();
        let values = rounds(3, 3, |contender| {
            order.push(['a', 'b', 'c'][contender]);
            Ok(order.len())
        });
        assert_eq!(order, "abccbaabc");
        assert_eq!(values.unwrap(), [[1, 6, 7], [2, 5, 8], [3, 4, 9]]);
    }

    #[test]
    fn one_disturbed_round_does_not_move_the_answer() {
        // Ratios 1, 5, 1, 1, 1: the second round's A met something else on the machine.
        let compared = Compared::new(&[2.0, 10.0, 4.0, 2.0, 2.0], &[2.0, 2.0, 4.0, 2.0, 2.0]);
        assert_eq!((compared.ratio(), compared.spread()), (1.0, 0.0));
    }

    #[test]
    fn rounds_that_disagree_have_a_spread() {
        // Ratios 1, 2, 3, 4, 5: quartiles 2 and 4 around 3.
        let compared = Compared::new(&[5.0, 1.0, 4.0, 2.0, 3.0], &[1.0; 5]);
        assert_eq!(compared.spread(), 2.0 / 3.0);
        assert!(Compared::new(&[], &[]).spread().is_nan());
    }
}
