//! Axes with round numbers.
use crate::model::{Unit, exact};

/// Where the unit of a horizontal axis begins, behind its right end: the label of the last line has its middle there.
pub(super) const UNIT: f64 = 28.0;

/// An axis for bytes: from 0 to `top` in steps of `step`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    /// The unit of the labels.
    pub(super) unit: Unit,
    /// The distance between two lines, in units.
    step: f64,
    /// The upper end, in units. It is a multiple of `step`.
    top: f64,
}

impl Scale {
    /// The axis with at most `lines` steps that has room for `most` bytes and leaves the least room empty.
    pub(super) fn bytes(most: u64, lines: usize) -> Scale {
        let unit = Unit::for_axis(most);
        let most = (most.max(1)) as f64 / unit.bytes as f64;
        let top = |step: f64| (most / step).ceil() * step;
        let steps = (lines.max(2) / 2..=lines.max(2)).map(|count| round_number(most / count as f64));
        let step = steps.min_by(|a, b| top(*a).total_cmp(&top(*b)).then(b.total_cmp(a))).unwrap_or(most);
        Scale { unit, step, top: top(step) }
    }

    /// The labels and the heights (0 to 1) of all lines, including that of 0.
    pub(super) fn lines(&self) -> Vec<(String, f64)> {
        let count = (self.top / self.step).round() as usize;
        (0..=count)
            .map(|index| {
                let value = self.step * index as f64;
                (label(value, self.step), value / self.top)
            })
            .collect()
    }

    /// The height of `bytes`, from 0 to 1.
    pub(super) fn at(&self, bytes: u64) -> f64 {
        bytes as f64 / self.unit.bytes as f64 / self.top
    }
}

/// About `count` round numbers of bytes between `from` and `to`, each with its label, and the unit of the labels.
pub(super) fn byte_ticks(from: u64, to: u64, count: usize) -> (Vec<(u64, String)>, &'static str) {
    let unit = Unit::for_axis(to);
    let in_unit = |bytes: u64| bytes as f64 / unit.bytes as f64;
    // There is nothing between one byte and the next.
    let step = round_number(in_unit(to.saturating_sub(from)) / count.max(1) as f64).max(in_unit(1));
    let first = (in_unit(from) / step).ceil();
    let ticks = (0..most_ticks(count))
        .map(|index| (first + index as f64) * step)
        .map(|value| ((value * unit.bytes as f64) as u64, label(value, step)))
        .take_while(|(bytes, _)| *bytes <= to)
        .collect();
    (ticks, unit.name)
}

/// The most ticks where about `count` are asked for. Beyond 2^53 a number and the next may be the same to a float, and no sum of steps
/// would come to the end.
fn most_ticks(count: usize) -> usize {
    count.saturating_mul(3).saturating_add(3)
}

/// About `count` round instants between `start` and `end`, in nanoseconds, each with its label, and the unit of the labels.
pub(super) fn time_ticks(start: u64, end: u64, count: usize) -> (Vec<(u64, String)>, &'static str) {
    let span = end.saturating_sub(start).max(1);
    let (unit, unit_ns) = match span {
        0..10_000 => ("ns", 1.0),
        10_000..10_000_000 => ("us", 1e3),
        10_000_000..5_000_000_000 => ("ms", 1e6),
        5_000_000_000..600_000_000_000 => ("s", 1e9),
        _ => ("min", 60e9),
    };
    // There is nothing between one nanosecond and the next.
    let step = round_number(span as f64 / unit_ns / count.max(1) as f64).max(1.0 / unit_ns);
    let first = (start as f64 / unit_ns / step).ceil();
    let ticks = (0..most_ticks(count))
        .map(|index| (first + index as f64) * step)
        .map(|value| ((value * unit_ns) as u64, label(value, step)))
        .take_while(|(ns, _)| *ns <= end)
        .collect();
    (ticks, unit)
}

/// The smallest round number that is not below `rough`: 1, 2, 2.5 or 5 times a power of ten.
fn round_number(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * 0.999).unwrap_or(10.0);
    factor * power
}

/// `value` with as many decimals as the step between two labels needs, and with separators.
fn label(value: f64, step: f64) -> String {
    let decimals = (0..4).find(|&decimals| (step * 10f64.powi(decimals)).fract().abs() < 1e-6).unwrap_or(4);
    if decimals == 0 { exact(value.round() as u64) } else { format!("{value:.*}", decimals as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_axes_end_on_a_round_number_above_the_most() {
        let scale = Scale::bytes(1368 << 20, 8);
        assert_eq!((scale.unit.name, scale.step, scale.top), ("MiB", 200.0, 1400.0));
        let labels: Vec<String> = scale.lines().into_iter().map(|line| line.0).collect();
        assert_eq!(labels, ["0", "200", "400", "600", "800", "1,000", "1,200", "1,400"]);
        assert_eq!(scale.at(700 << 20), 0.5);
        // 500 in steps of 100 would leave a fifth of the picture empty.
        assert_eq!(Scale::bytes(411 << 20, 9).top, 450.0);
    }

    #[test]
    fn the_longest_time_there_is_has_an_axis() {
        for (start, end) in [(0, u64::MAX), (u64::MAX - 1, u64::MAX), (0, 0)] {
            let (ticks, _) = time_ticks(start, end, 10);
            assert!((1..=33).contains(&ticks.len()), "{start} {end} {}", ticks.len());
            let places = ticks.iter().map(|tick| tick.0).collect::<std::collections::BTreeSet<_>>();
            assert!(places.len() == ticks.len() || end > 1 << 53, "{start} {end}: two labels at one place");
        }
    }

    #[test]
    fn an_empty_axis_is_still_an_axis() {
        let scale = Scale::bytes(0, 5);
        assert!(scale.top > 0.0 && scale.lines().len() >= 2);
    }

    #[test]
    fn time_labels_carry_only_the_decimals_that_they_need() {
        let (ticks, unit) = time_ticks(0, 12_000_000_000, 6);
        let labels: Vec<&str> = ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!((labels, unit), (vec!["0", "2", "4", "6", "8", "10", "12"], "s"));
        let (ticks, unit) = time_ticks(0, 6_000_000, 4);
        assert_eq!((ticks[1].1.as_str(), unit), ("2,000", "us"));
        let (ticks, _) = time_ticks(0, 10_000_000_000, 4);
        assert_eq!(ticks[1].1, "2.5");
    }

    #[test]
    fn an_axis_of_bytes_may_begin_anywhere() {
        let (ticks, unit) = byte_ticks(860 << 20, 1118 << 20, 5);
        let labels: Vec<&str> = ticks.iter().map(|tick| tick.1.as_str()).collect();
        assert_eq!((labels, unit), (vec!["900", "1,000", "1,100"], "MiB"));
        assert_eq!(ticks[0].0, 900 << 20);
        assert_eq!(byte_ticks(0, 0, 4).0, [(0, "0".to_owned())]);
    }
}
