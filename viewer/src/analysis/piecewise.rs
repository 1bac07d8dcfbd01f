//! Least-squares fits of a line with three pieces: flat up to one point, a slope up to another point, and flat from there.
//!
//! ```text
//!   bytes              ________
//!                     /        to
//!                    /
//!      _____________/  from
//!                                 steps
//! ```

/// One line of three pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct PiecewiseFit {
    /// Index of the point at which the slope begins.
    from: usize,
    /// Index of the point at which the slope ends.
    to: usize,
    /// Bytes of the flat piece at the beginning.
    base: f64,
    /// Bytes a step.
    pub(super) slope: f64,
    /// Bytes from the beginning to the end; negative where the line falls.
    pub(super) rise: f64,
    /// The typical distance of a point from the line: the square root of the mean squared distance.
    error: f64,
}

/// Points, with the sums that a least-squares fit over any part of them needs.
pub(super) struct Points {
    /// Steps since the first one.
    x: Vec<f64>,
    /// Bytes more than in the first step.
    y: Vec<f64>,
    /// Sums over the points before an index: 1, x, x^2, y, xy, y^2.
    sums: Vec<[f64; 6]>,
}

impl Points {
    /// The points (step, bytes); both slices are equally long.
    pub(super) fn new(steps: &[u64], bytes: &[u64]) -> Points {
        let (x0, y0) = (steps.first().copied().unwrap_or(0), bytes.first().copied().unwrap_or(0));
        let x: Vec<f64> = steps.iter().map(|&step| (step - x0) as f64).collect();
        // Differences to the first point are small numbers even where the bytes are large ones, so that the sums stay exact.
        let y: Vec<f64> = bytes.iter().map(|&bytes| bytes as f64 - y0 as f64).collect();
        let mut sums = vec![[0.0; 6]];
        for (&x, &y) in x.iter().zip(&y) {
            let mut sum = sums[sums.len() - 1];
            sum.iter_mut().zip([1.0, x, x * x, y, x * y, y * y]).for_each(|(sum, part)| *sum += part);
            sums.push(sum);
        }
        Points { x, y, sums }
    }

    /// The sums over the points from index `from` up to, but without, index `to`.
    fn sum(&self, from: usize, to: usize) -> [f64; 6] {
        std::array::from_fn(|at| self.sums[to][at] - self.sums[from][at])
    }

    /// The smallest difference in bytes that counts: anything below it could come from rounding.
    fn resolution(&self) -> f64 {
        let (low, high) = self.y.iter().fold((f64::MAX, f64::MIN), |(low, high), &y| (low.min(y), high.max(y)));
        (1e-6 * (high - low)).max(1.0)
    }

    /// The best line whose slope lies between these two points, and the sum of its squared errors.
    fn fit(&self, from: usize, to: usize) -> (PiecewiseFit, f64) {
        let count = self.x.len();
        let (left, right) = (self.x[from], self.x[to]);
        // r is x, limited to the range of the slope: the line is a linear function of r.
        let [n0, _, _, y0, _, _] = self.sum(0, from);
        let [n1, x1, xx1, y1, xy1, _] = self.sum(from, to);
        let [n2, _, _, y2, _, _] = self.sum(to, count);
        let [n, _, _, y, _, yy] = self.sum(0, count);
        debug_assert!((n0 + n1 + n2 - n).abs() < 0.5);
        let r = n0 * left + x1 + n2 * right;
        let rr = n0 * left * left + xx1 + n2 * right * right;
        let ry = left * y0 + xy1 + right * y2;
        let spread = rr - r * r / n;
        let slope = if spread > 0.0 { (ry - r * y / n) / spread } else { 0.0 };
        let squares = (yy - y * y / n - slope * slope * spread).max(0.0);
        debug_assert!((y0 + y1 + y2 - y).abs() <= 1e-6 * (1.0 + yy.sqrt() * n));
        let base = (y - slope * r) / n + slope * left;
        let error = (squares / n).sqrt();
        (PiecewiseFit { from, to, base, slope, rise: slope * (right - left), error }, squares)
    }

    /// The line that explains the points with the fewest assumptions, by the Bayesian information criterion. `None` when
    /// that is a flat line without any slope.
    pub(super) fn best(&self) -> Option<PiecewiseFit> {
        let count = self.x.len();
        let (n, last) = (count as f64, count - 1);
        let resolution = self.resolution();
        let cost =
            |squares: f64, parameters: f64| n * (squares / n + resolution * resolution).ln() + parameters * n.ln();
        let [_, _, _, y, _, yy] = self.sum(0, count);
        // A flat line has one parameter, its height. A slope adds its rate, and each end that was searched for adds two.
        let mut best = (cost((yy - y * y / n).max(0.0), 1.0), None);
        for from in 0..last {
            for to in from + 1..count {
                let flat_end = last - to;
                // A flat end of one or two points could as well be noise.
                if (1..3).contains(&flat_end) {
                    continue;
                }
                let (fit, squares) = self.fit(from, to);
                let cost = cost(squares, if flat_end == 0 { 4.0 } else { 6.0 });
                if cost < best.0 {
                    best = (cost, Some(fit));
                }
            }
        }
        best.1
    }

    /// Whether the line rises by more than the noise.
    pub(super) fn is_rise(&self, fit: &PiecewiseFit) -> bool {
        fit.rise > 3.0 * fit.error && fit.rise > self.resolution()
    }

    /// The new highest points after index `from`: each with the bytes by which it exceeds all points before it. Points that
    /// exceed them by no more than `noise` do not count.
    fn records(&self, from: usize, noise: f64) -> Vec<(usize, f64)> {
        let mut highest = self.y[..=from].iter().copied().fold(f64::MIN, f64::max);
        let mut records = Vec::new();
        for (index, &y) in self.y.iter().enumerate().skip(from + 1) {
            if y > highest + noise {
                records.push((index, y - highest));
                highest = y;
            }
        }
        records
    }

    /// Whether the points rise up to the last one.
    pub(super) fn grows(&self, fit: &PiecewiseFit) -> bool {
        let last = self.x.len() - 1;
        let records = self.records(fit.from, self.resolution() / 2.0);
        let largest = records.iter().map(|record| record.1).fold(0.0, f64::max);
        if !self.is_rise(fit) || records.len() < 3 || largest > 0.6 * fit.rise {
            return false;
        }
        if fit.to == last {
            return last - fit.from >= 4;
        }
        // The line is flat at its end, but growth in lumps is flat between two lumps. It goes on unless the last flat
        // stretch is half as long again as the longest one before it. A rise of a hundredth counts as flat here.
        let records = self.records(fit.from, fit.rise / 100.0);
        let Some(&(latest, _)) = records.last() else { return false };
        let stretches = records.windows(2).map(|pair| self.x[pair[1].0] - self.x[pair[0].0]);
        let longest = stretches.fold(0.0, f64::max);
        self.x[last] - self.x[latest] <= 1.5 * longest && fit.error < 0.1 * fit.rise
    }

    /// The index of the last point at which the rise of `fit` went on.
    pub(super) fn end_of(&self, fit: &PiecewiseFit) -> usize {
        let records = self.records(fit.from, self.resolution() / 2.0);
        records.last().map_or(fit.to, |record| record.0.min(fit.to))
    }

    /// Whether the second half of the slope is less than half as steep as the first.
    pub(super) fn slows(&self, fit: &PiecewiseFit) -> bool {
        let last = self.x.len() - 1;
        let middle = (fit.from + last) / 2;
        if middle - fit.from < 3 {
            return false;
        }
        let slope = |from: usize, to: usize| {
            let [n, x, xx, y, xy, _] = self.sum(from, to + 1);
            let spread = xx - x * x / n;
            if spread > 0.0 { (xy - x * y / n) / spread } else { 0.0 }
        };
        slope(middle, last) < 0.5 * slope(fit.from, middle)
    }

    /// How many steps after the first one the growth of `fit` began. The fit was made without the first `skipped` of these
    /// points. Where it begins with the first point that it knows, it is extended back over the skipped points that lie
    /// on it.
    pub(super) fn since(&self, fit: &PiecewiseFit, skipped: usize) -> u64 {
        let mut from = fit.from + skipped;
        // The fit's coordinates count from the first of its own points.
        let (x0, y0) = (self.x[skipped], self.y[skipped]);
        let near = (3.0 * fit.error).max(self.resolution()).max(0.02 * fit.slope.abs());
        let on_line = |at: usize| {
            let line = fit.base + fit.slope * (self.x[at] - x0 - (self.x[fit.from + skipped] - x0));
            (self.y[at] - y0 - line).abs() <= near
        };
        if fit.from == 0 {
            while from > 0 && on_line(from - 1) {
                from -= 1;
            }
        }
        let first = if from == 0 { 0 } else { from + 1 };
        self.x.get(first).map_or(0, |x| *x as u64)
    }
}
