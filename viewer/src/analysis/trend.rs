//! Whether what an owner holds at the end of each step grows, and from when on.
//!
//! Three pictures are laid over the points, each by least squares, and the one that explains them with the fewest
//! assumptions wins (the Bayesian information criterion):
//!
//! ```text
//!   . . . . . . .          . . . /           . . . __________
//!                              /                 /
//!                  ._._._._./            ._._._/
//!     flat            since k              from k to l: a warm-up when that is early, a cache that
//!                                          levelled off when it is late
//! ```
//!
//! A rise must be told from noise: it is three times as large as what the picture leaves unexplained, and it is made of at
//! least three new highest points, none of which is most of it. A growth that comes in lumps has flat stretches; it is
//! over only when the last of them is half as long again as any before. A list that doubles when it is full looks as if it
//! were over half of the time; it is known by its lumps and the stretches between them, both of which double.
use serde::Serialize;

/// The fewest steps of which anything is said.
pub const FEWEST_STEPS: usize = 8;

/// What became of the bytes from step to step. Step numbers are the recording's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Trend {
    /// Fewer than [`FEWEST_STEPS`] steps: nobody can tell.
    TooFewSteps,
    /// The same all the time.
    Steady,
    /// Up and down, without a direction that could be told from chance.
    Uneven,
    /// Less than at the beginning.
    Shrinks,
    /// Grew in the first steps and not since.
    WarmUp {
        /// The last step in which it grew.
        until_step: u64,
    },
    /// Grew for longer, and does no more: a cache that is full.
    LevelledOff {
        /// The last step in which it grew.
        until_step: u64,
    },
    /// Grows still.
    Grows {
        /// The first step that left more behind.
        since_step: u64,
        /// Bytes a step.
        bytes_per_step: i64,
        /// Less and less: it may be a cache that is not full yet.
        slowing: bool,
    },
    /// Grows in ever larger lumps at ever longer distances, as a list does that doubles when it is full.
    Doubles {
        /// The first step that left more behind.
        since_step: u64,
        /// Bytes a step, over the whole time.
        bytes_per_step: i64,
        /// The step of the latest lump.
        last_step: u64,
    },
}

impl Trend {
    /// Whether the bytes are still becoming more.
    pub fn is_growth(&self) -> bool {
        matches!(self, Trend::Grows { .. } | Trend::Doubles { .. })
    }

    /// Bytes a step of one that grows; 0 for others.
    pub fn bytes_per_step(&self) -> i64 {
        match self {
            Trend::Grows { bytes_per_step, .. } | Trend::Doubles { bytes_per_step, .. } => *bytes_per_step,
            _ => 0,
        }
    }
}

/// The trend of `bytes` at the end of `steps`, which are as many and count up.
pub fn trend(steps: &[u64], bytes: &[u64]) -> Trend {
    let count = steps.len().min(bytes.len());
    let (steps, bytes) = (&steps[..count], &bytes[..count]);
    if bytes.windows(2).all(|pair| pair[0] == pair[1]) && count > 1 {
        return Trend::Steady;
    }
    if count < FEWEST_STEPS {
        return Trend::TooFewSteps;
    }
    if let Some(doubles) = doubles(steps, bytes) {
        return doubles;
    }
    // The first steps are looked at last: what they do beside does not hide a growth that comes later.
    let warm = (count / 10).clamp(1, 5);
    let points = Points::new(&steps[warm..], &bytes[warm..]);
    if let Some(fit) = points.best().filter(|fit| points.grows(fit)) {
        let all = Points::new(steps, bytes);
        return Trend::Grows {
            since_step: steps[0] + all.since(&fit, warm),
            bytes_per_step: fit.slope.round() as i64,
            slowing: points.slows(&fit),
        };
    }
    let all = Points::new(steps, bytes);
    match all.best() {
        None => Trend::Uneven,
        Some(fit) if !all.is_rise(&fit) => {
            if fit.rise < 0.0 {
                Trend::Shrinks
            } else {
                Trend::Uneven
            }
        }
        Some(fit) => {
            let end = all.end_of(&fit);
            let until_step = steps[end];
            if end <= (count / 8).max(3) { Trend::WarmUp { until_step } } else { Trend::LevelledOff { until_step } }
        }
    }
}

/// Lumps whose sizes and distances both grow by a factor, the next of which is not overdue.
fn doubles(steps: &[u64], bytes: &[u64]) -> Option<Trend> {
    let mut lumps: Vec<(usize, f64)> = Vec::new();
    for (index, pair) in bytes.windows(2).enumerate() {
        match pair[1].cmp(&pair[0]) {
            std::cmp::Ordering::Less => return None,
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => lumps.push((index + 1, (pair[1] - pair[0]) as f64)),
        }
    }
    let distance = |from: usize, to: usize| (steps[lumps[to].0] - steps[lumps[from].0]) as f64;
    if lumps.len() < 4 {
        return None;
    }
    // The early lumps may fall into one step, or one into two: the last four tell.
    let tail = lumps.len() - 4;
    let like = |ratio: f64| (1.3..=2.7).contains(&ratio);
    let sizes = (tail..lumps.len() - 1).all(|at| like(lumps[at + 1].1 / lumps[at].1));
    let distances = (tail + 1..lumps.len() - 1).all(|at| like(distance(at, at + 1) / distance(at - 1, at)));
    let (first, last) = (lumps[0].0, lumps[lumps.len() - 1].0);
    let (end, latest) = (*steps.last()?, steps[last]);
    let overdue = (end - latest) as f64 > 2.7 * distance(lumps.len() - 2, lumps.len() - 1);
    if !sizes || !distances || overdue {
        return None;
    }
    let grown = bytes[last] as f64 - bytes[0] as f64;
    let span = (end - steps[0]).max(1) as f64;
    let bytes_per_step = (grown / span).round() as i64;
    Some(Trend::Doubles { since_step: steps[first], bytes_per_step, last_step: latest })
}

/// Flat up to the point `from`, a slope up to the point `to`, flat from there on.
#[derive(Clone, Copy, Debug)]
struct Fit {
    from: usize,
    to: usize,
    /// Bytes at the flat beginning.
    base: f64,
    slope: f64,
    /// Bytes from beginning to end; negative where it falls.
    rise: f64,
    /// What one point is typically away from it.
    error: f64,
}

/// Points with the sums that a least-squares fit over any part of them needs.
struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Sums over the points before an index: 1, x, x^2, y, xy, y^2.
    sums: Vec<[f64; 6]>,
}

impl Points {
    fn new(steps: &[u64], bytes: &[u64]) -> Points {
        let (x0, y0) = (steps.first().copied().unwrap_or(0), bytes.first().copied().unwrap_or(0));
        let x: Vec<f64> = steps.iter().map(|&step| (step - x0) as f64).collect();
        // Differences to the first are small numbers, also where the bytes are not.
        let y: Vec<f64> = bytes.iter().map(|&bytes| bytes as f64 - y0 as f64).collect();
        let mut sums = vec![[0.0; 6]];
        for (&x, &y) in x.iter().zip(&y) {
            let mut sum = sums[sums.len() - 1];
            sum.iter_mut().zip([1.0, x, x * x, y, x * y, y * y]).for_each(|(sum, part)| *sum += part);
            sums.push(sum);
        }
        Points { x, y, sums }
    }

    fn sum(&self, from: usize, to: usize) -> [f64; 6] {
        std::array::from_fn(|at| self.sums[to][at] - self.sums[from][at])
    }

    /// What a byte more or less could be by rounding alone.
    fn grain(&self) -> f64 {
        let (low, high) = self.y.iter().fold((f64::MAX, f64::MIN), |(low, high), &y| (low.min(y), high.max(y)));
        (1e-6 * (high - low)).max(1.0)
    }

    /// The fit with this slope's ends and its squared error.
    fn fit(&self, from: usize, to: usize) -> (Fit, f64) {
        let count = self.x.len();
        let (left, right) = (self.x[from], self.x[to]);
        // r is x, but no less than at the one end and no more than at the other.
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
        (Fit { from, to, base, slope, rise: slope * (right - left), error }, squares)
    }

    /// The picture that explains the points best; `None` for the flat one.
    fn best(&self) -> Option<Fit> {
        let count = self.x.len();
        let (n, last) = (count as f64, count - 1);
        let grain = self.grain();
        let cost = |squares: f64, parameters: f64| n * (squares / n + grain * grain).ln() + parameters * n.ln();
        let [_, _, _, y, _, yy] = self.sum(0, count);
        // A place that was searched for counts twice.
        let mut best = (cost((yy - y * y / n).max(0.0), 1.0), None);
        for from in 0..last {
            for to in from + 1..count {
                let flat_end = last - to;
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

    fn is_rise(&self, fit: &Fit) -> bool {
        fit.rise > 3.0 * fit.error && fit.rise > self.grain()
    }

    /// The points from `from` on that are above all before them, each with what it is above them.
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

    /// Whether the points go up and have not stopped.
    fn grows(&self, fit: &Fit) -> bool {
        let last = self.x.len() - 1;
        let records = self.records(fit.from, self.grain() / 2.0);
        let lumps = records.iter().map(|record| record.1).fold(0.0, f64::max);
        if !self.is_rise(fit) || records.len() < 3 || lumps > 0.6 * fit.rise {
            return false;
        }
        if fit.to == last {
            return last - fit.from >= 4;
        }
        // It seems to be over. The last flat stretch against those before it; a hundredth more is flat, too.
        let records = self.records(fit.from, fit.rise / 100.0);
        let Some(&(latest, _)) = records.last() else { return false };
        let stretches = records.windows(2).map(|pair| self.x[pair[1].0] - self.x[pair[0].0]);
        let longest = stretches.fold(0.0, f64::max);
        self.x[last] - self.x[latest] <= 1.5 * longest && fit.error < 0.1 * fit.rise
    }

    /// The last point at which the rise of `fit` went on.
    fn end_of(&self, fit: &Fit) -> usize {
        let records = self.records(fit.from, self.grain() / 2.0);
        records.last().map_or(fit.to, |record| record.0.min(fit.to))
    }

    /// Whether the second half of the slope is less than half as steep as the first.
    fn slows(&self, fit: &Fit) -> bool {
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

    /// How many steps after the first the growth of `fit` began. The fit was made without the first `skipped` of these points, and is
    /// followed back into them as far as they lie on it.
    fn since(&self, fit: &Fit, skipped: usize) -> u64 {
        let mut from = fit.from + skipped;
        // The fit counts from the first of its points.
        let (x0, y0) = (self.x[skipped], self.y[skipped]);
        let near = (3.0 * fit.error).max(self.grain()).max(0.02 * fit.slope.abs());
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

#[cfg(test)]
mod tests;
