//! Several ways of doing the same, measured in turn: A B C, C B A, A B C, ... so that a machine that slows down slows all.

use std::time::{Duration, Instant};

use anyhow::Result;
use trainer_statistics::{Interval, median, median_interval, quantile};

/// Of the draws of the bootstrap.
const SEED: u64 = 1;

/// Measures each of `count` contenders once a round, in an order that is reversed after every round. Returns the values
/// of each contender, round by round.
pub fn rounds<T>(rounds: usize, count: usize, measure: impl FnMut(usize) -> Result<T>) -> Result<Vec<Vec<T>>> {
    rounds_until(rounds, Duration::ZERO, count, measure, |_| true)
}

/// At least `least` such rounds, and more until the values are `enough` or the rounds have taken `time`. It is asked after
/// `least` rounds and whenever their number has grown by half: who asks after each round stops at the first one that
/// happens to please.
pub fn rounds_until<T>(
    least: usize,
    time: Duration,
    count: usize,
    mut measure: impl FnMut(usize) -> Result<T>,
    enough: impl Fn(&[Vec<T>]) -> bool,
) -> Result<Vec<Vec<T>>> {
    let began = Instant::now();
    let mut values: Vec<Vec<T>> = (0..count).map(|_| Vec::with_capacity(least)).collect();
    let (mut round, mut asked_at) = (0, least);
    loop {
        if round >= asked_at {
            if began.elapsed() >= time || enough(&values) {
                return Ok(values);
            }
            asked_at = (asked_at + asked_at / 2).max(round + 1);
        }
        for place in 0..count {
            let contender = if round % 2 == 0 { place } else { count - 1 - place };
            values[contender].push(measure(contender)?);
        }
        round += 1;
    }
}

/// Two contenders' values. `a` is divided by `b`.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Each value of A.
    pub a: Vec<f64>,
    /// Each value of B, in the same order.
    pub b: Vec<f64>,
    /// So many values in a row are of one process.
    pub of_a_process: usize,
}

impl Compared {
    /// The values of two contenders, of which `a` is divided by `b`; each of a process of its own.
    pub fn new(a: &[f64], b: &[f64]) -> Self {
        Self { a: a.to_vec(), b: b.to_vec(), of_a_process: 1 }
    }

    /// A / B of each round.
    pub fn ratios(&self) -> Vec<f64> {
        self.a.iter().zip(&self.b).map(|(a, b)| a / b).collect()
    }

    /// The answer: the median of the rounds' ratios.
    pub fn ratio(&self) -> f64 {
        median(&self.ratios())
    }

    /// Where the median lies with a confidence of 95 %: by the bootstrap, processes first and then the values of each.
    pub fn interval(&self) -> Interval {
        let processes: Vec<Vec<f64>> = self.ratios().chunks(self.of_a_process.max(1)).map(<[f64]>::to_vec).collect();
        median_interval(&processes, SEED).unwrap_or(Interval { low: f64::NAN, high: f64::NAN })
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

    /// Asked after 2, 3, 4 and 6 rounds; of 4 it has enough. Without time it is not asked.
    #[test]
    fn rounds_are_added_until_there_are_enough_or_the_time_is_up() {
        let run = |time, enough: usize| {
            let asked = std::cell::RefCell::new(Vec::new());
            let values = rounds_until(
                2,
                time,
                1,
                |_| Ok(()),
                |values: &[Vec<()>]| {
                    asked.borrow_mut().push(values[0].len());
                    values[0].len() >= enough
                },
            );
            (values.unwrap()[0].len(), asked.into_inner())
        };
        assert_eq!(run(Duration::from_secs(600), 4), (4, vec![2, 3, 4]));
        assert_eq!(run(Duration::from_secs(600), 5), (6, vec![2, 3, 4, 6]));
        assert_eq!(run(Duration::ZERO, 5), (2, vec![]));
    }

    /// Ten processes of ten equal steps each: what differs is the processes, so ten values count and not a hundred.
    #[test]
    fn steps_of_one_process_are_alike() {
        let a: Vec<f64> = (0..100).map(|step| f64::from(step / 10 + 1)).collect();
        let apart = Compared::new(&a, &[1.0; 100]).interval();
        let together = Compared { of_a_process: 10, ..Compared::new(&a, &[1.0; 100]) }.interval();
        assert!(together.high - together.low > apart.high - apart.low, "{together:?} {apart:?}");
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
