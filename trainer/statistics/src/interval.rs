//! How far the median of a few runs may be trusted: an interval by the bootstrap.
//!
//! Steps of one process are alike: they share its heap, its pages and what else the machine did meanwhile. So runs are
//! drawn first, and then as many of their values as each has (a bootstrap of two stages). Of one run, the interval tells
//! only how its steps differ, and nothing of what another run would do.
use fastrand::Rng;

use crate::summary::{quantile_of_sorted, sorted};

/// How often the runs are drawn anew.
const DRAWS: usize = 2000;
/// Left out below and above, so that 95 % of the drawn medians are inside.
const TAIL: f64 = 0.025;

/// Where the median lies with a confidence of 95 %, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether no value is in both.
    pub fn is_apart_from(self, other: Interval) -> bool {
        self.high < other.low || other.high < self.low
    }
}

/// The interval of the median of all values of all `runs`; the same for the same `seed`, in whichever order runs and
/// values come. `None` when there is no value.
pub fn median_interval(runs: &[Vec<f64>], seed: u64) -> Option<Interval> {
    let mut runs: Vec<Vec<f64>> = runs.iter().filter(|run| !run.is_empty()).map(|run| sorted(run)).collect();
    runs.sort_by(|one, other| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
    if runs.is_empty() {
        return None;
    }
    let mut rng = Rng::with_seed(seed);
    let mut drawn = Vec::new();
    let mut medians = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        drawn.clear();
        for _ in 0..runs.len() {
            let run = &runs[rng.usize(..runs.len())];
            drawn.extend((0..run.len()).map(|_| run[rng.usize(..run.len())]));
        }
        drawn.sort_by(f64::total_cmp);
        medians.push(quantile_of_sorted(&drawn, 0.5));
    }
    medians.sort_by(f64::total_cmp);
    Some(Interval { low: quantile_of_sorted(&medians, TAIL), high: quantile_of_sorted(&medians, 1.0 - TAIL) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_values_leave_no_doubt() {
        assert_eq!(median_interval(&[vec![7.0; 5], vec![7.0; 5]], 1), Some(Interval { low: 7.0, high: 7.0 }));
        assert_eq!(median_interval(&[vec![]], 1), None);
        assert_eq!(median_interval(&[], 1), None);
    }

    /// Two runs of one value each, 1 and 3: a quarter of the draws is (1, 1), a quarter (3, 3). Both are more than the tail.
    #[test]
    fn two_runs_that_differ_are_both_inside() {
        assert_eq!(median_interval(&[vec![1.0], vec![3.0]], 1), Some(Interval { low: 1.0, high: 3.0 }));
    }

    /// Ten runs, each of ten equal values: what differs is the runs, and a bootstrap that drew steps alone would find a
    /// median that hardly moves. The runs are 1 to 10; the median of ten drawn runs is far from sure.
    #[test]
    fn what_differs_from_run_to_run_counts() {
        let runs: Vec<Vec<f64>> = (1..=10).map(|run| vec![f64::from(run); 10]).collect();
        let interval = median_interval(&runs, 1).expect("values");
        assert!(interval.low <= 4.0 && interval.high >= 7.0, "{interval:?}");
    }

    #[test]
    fn intervals_that_share_a_value_are_not_apart() {
        let interval = |low, high| Interval { low, high };
        assert!(interval(1.0, 2.0).is_apart_from(interval(2.5, 3.0)));
        assert!(interval(2.5, 3.0).is_apart_from(interval(1.0, 2.0)));
        assert!(!interval(1.0, 2.0).is_apart_from(interval(2.0, 3.0)));
        assert!(!interval(1.0, 9.0).is_apart_from(interval(2.0, 3.0)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn order_and_unit_do_not_matter(
            runs in prop::collection::vec(prop::collection::vec(0.0..1e6_f64, 1..6), 1..5),
            seed in 0..9_u64,
        ) {
            let interval = median_interval(&runs, seed).expect("values");
            let mut turned: Vec<Vec<f64>> = runs.clone();
            turned.reverse();
            turned.iter_mut().for_each(|run| run.reverse());
            prop_assert_eq!(median_interval(&turned, seed), Some(interval));
            let halved: Vec<Vec<f64>> = runs.iter().map(|run| run.iter().map(|value| value / 2.0).collect()).collect();
            let half = median_interval(&halved, seed).expect("values");
            prop_assert_eq!((interval.low / 2.0, interval.high / 2.0), (half.low, half.high));
            prop_assert!(interval.low <= interval.high);
        }
    }
}
