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
    /// The line through points with two different `x` at least. Sums are whole numbers, so that a line which meets all of its
    /// points leaves a residual of 0.
    pub(super) fn through(points: &[(u64, u64)]) -> Option<Line> {
        let count = points.len() as i128;
        let sum = |of: fn(i128, i128) -> i128| -> i128 {
            points.iter().map(|&(x, y)| of(i128::from(x), i128::from(y))).sum()
        };
        let (sum_x, sum_y) = (sum(|x, _| x), sum(|_, y| y));
        // The slope is rise / run.
        let run = count * sum(|x, _| x * x) - sum_x * sum_x;
        let rise = count * sum(|x, y| x * y) - sum_x * sum_y;
        if run == 0 {
            return None;
        }
        let off = |&(x, y): &(u64, u64)| {
            (run * (count * i128::from(y) - sum_y) - rise * (count * i128::from(x) - sum_x)).unsigned_abs()
        };
        let farthest = points.iter().map(off).max().unwrap_or(0);
        Some(Line {
            constant: (sum_y * run - rise * sum_x) as f64 / (count * run) as f64,
            slope: rise as f64 / run as f64,
            residual: farthest as f64 / (count * run) as f64,
        })
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
