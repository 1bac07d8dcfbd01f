//! The values in order, and their mean and deviation.

/// What is told of many values, in the unit of the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// How many there are; at least one.
    pub count: usize,
    /// The smallest.
    pub min: f64,
    /// A quarter of the values is at most this.
    pub q1: f64,
    /// The middle.
    pub median: f64,
    /// Three quarters of the values are at most this.
    pub q3: f64,
    /// Nine tenths of the values are at most this.
    pub p90: f64,
    /// The largest.
    pub max: f64,
    /// The sum divided by the count.
    pub mean: f64,
    /// The standard deviation of a sample (the squares' sum is divided by the count less 1); there is none of one value.
    pub sd: Option<f64>,
}

impl Summary {
    /// Of `values` in any order; `None` when there are none.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let sorted = sorted(values);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let count = sorted.len();
        // Summed in order, so that the order in which values came changes no digit.
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Summary {
            count,
            min,
            q1: quantile_of_sorted(&sorted, 0.25),
            median: quantile_of_sorted(&sorted, 0.5),
            q3: quantile_of_sorted(&sorted, 0.75),
            p90: quantile_of_sorted(&sorted, 0.9),
            max,
            mean,
            sd: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
        })
    }
}

/// The value below which the part `share` of the values lies, interpolated between the two values that are nearest (as
/// numpy and R do unless told otherwise); NaN of nothing. `share` lies between 0 and 1.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    quantile_of_sorted(&sorted(values), share)
}

/// The middle value; of an even number, the mean of the middle two. NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Smallest and largest; of nothing, infinity and its negative.
pub fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

pub(crate) fn quantile_of_sorted(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2, 4, 4, 4, 5, 5, 7, 9: the mean is 40 / 8, the squares of the differences sum to 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32,
    /// and the deviation is the root of 32 / 7. The places of the quantiles are 7 x 0.25 = 1.75 (between 4 and 4),
    /// 3.5 (between 4 and 5), 5.25 (a quarter of the way from 5 to 7), 6.3 (0.3 of the way from 7 to 9).
    #[test]
    fn numbers_worked_by_hand() {
        let summary = Summary::of(&[9.0, 2.0, 5.0, 4.0, 4.0, 7.0, 4.0, 5.0]).expect("there are values");
        assert_eq!((summary.count, summary.min, summary.max, summary.mean), (8, 2.0, 9.0, 5.0));
        assert_eq!((summary.q1, summary.median, summary.q3), (4.0, 4.5, 5.5));
        assert!((summary.p90 - 7.6).abs() < 1e-12, "{}", summary.p90);
        assert_eq!(summary.sd, Some((32.0_f64 / 7.0).sqrt()));
    }

    #[test]
    fn one_value_and_none() {
        let one = Summary::of(&[3.0]).expect("a value");
        assert_eq!((one.min, one.q1, one.median, one.p90, one.max, one.sd), (3.0, 3.0, 3.0, 3.0, 3.0, None));
        assert_eq!(Summary::of(&[]), None);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(range(&[4.0, 1.0, 3.0]), (1.0, 4.0));
    }

    proptest! {
        /// The order in which values come is no information.
        #[test]
        fn order_does_not_matter(values in prop::collection::vec(-1e9..1e9_f64, 1..40), turn in 0..40_usize) {
            let mut other = values.clone();
            other.rotate_left(turn % values.len());
            prop_assert_eq!(Summary::of(&values), Summary::of(&other));
        }

        /// Seconds in place of nanoseconds: everything is scaled. A power of two changes no digit of a float.
        #[test]
        fn the_unit_does_not_matter(values in prop::collection::vec(-1e9..1e9_f64, 2..40)) {
            let scaled: Vec<f64> = values.iter().map(|value| value / 1024.0).collect();
            let (one, other) = (Summary::of(&values).expect("values"), Summary::of(&scaled).expect("values"));
            for (big, small) in [(one.min, other.min), (one.q1, other.q1), (one.median, other.median),
                (one.q3, other.q3), (one.p90, other.p90), (one.max, other.max), (one.mean, other.mean)] {
                prop_assert_eq!(big / 1024.0, small);
            }
            let (big, small) = (one.sd.expect("two values"), other.sd.expect("two values"));
            prop_assert!((big / 1024.0 - small).abs() <= 1e-12 * big.abs());
        }

        /// The quantiles rise with the share, and lie among the values.
        #[test]
        fn quantiles_are_in_order(values in prop::collection::vec(-1e9..1e9_f64, 1..40)) {
            let summary = Summary::of(&values).expect("values");
            let order = [summary.min, summary.q1, summary.median, summary.q3, summary.p90, summary.max];
            prop_assert!(order.is_sorted(), "{:?}", order);
        }
    }
}
