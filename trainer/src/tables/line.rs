//! The straight line through a few points: least squares.

/// `constant + slope * x`, and how far the points lie off.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(super) struct Line {
    pub(super) constant: f64,
    pub(super) slope: f64,
    /// The farthest that any point lies off, up or down.
    pub(super) residual: f64,
}

impl Line {
    /// The line through points with two different `x` at least.
    pub(super) fn through(points: &[(u64, u64)]) -> Option<Line> {
        let count = points.len() as f64;
        // Around their means, so that large bytes lose no digits.
        let mean = |of: fn(&(u64, u64)) -> u64| points.iter().map(|point| of(point) as f64).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let from_means = || points.iter().map(|point| (point.0 as f64 - x, point.1 as f64 - y));
        let squares: f64 = from_means().map(|(dx, _)| dx * dx).sum();
        if squares == 0.0 || points.is_empty() {
            return None;
        }
        let slope = from_means().map(|(dx, dy)| dx * dy).sum::<f64>() / squares;
        let residual = from_means().map(|(dx, dy)| (dy - slope * dx).abs()).fold(0.0, f64::max);
        Some(Line { constant: y - slope * x, slope, residual })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5 + 3 x; and with the middle point 3 higher, the line is 1 higher, and that point lies 2 off.
    #[test]
    fn lines_worked_by_hand() {
        let exact = Line::through(&[(1, 8), (2, 11), (3, 14)]).expect("three points");
        assert_eq!((exact.constant, exact.slope, exact.residual), (5.0, 3.0, 0.0));
        let off = Line::through(&[(1, 8), (2, 14), (3, 14)]).expect("three points");
        assert_eq!((off.constant, off.slope, off.residual), (6.0, 3.0, 2.0));
    }

    #[test]
    fn one_x_is_no_line() {
        assert_eq!(Line::through(&[(2, 5), (2, 5)]), None);
        assert_eq!(Line::through(&[]), None);
    }
}
