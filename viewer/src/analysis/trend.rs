//! Whether the bytes that an owner holds at the end of each step grow, and since when.
//!
//! Three kinds of line are fitted to the points by least squares (`piecewise.rs`). The line that explains the points with
//! the fewest assumptions wins, by the Bayesian information criterion:
//!
//! ```text
//!   . . . . . . .          . . . /           . . . __________
//!                              /                 /
//!                  ._._._._./            ._._._/
//!     flat            since k              from k to l: a warm-up when l is early, a cache that
//!                                          levelled off when l is late
//! ```
//!
//! A rise must be told from noise. It is three times as large as the typical distance of a point from the line, and it
//! consists of at least three new highest points, none of which is most of the rise. Growth in lumps has flat stretches. It
//! is over only when the last stretch is half as long again as any before it. A list that doubles when it is full would seem
//! to be over half of the time. It is recognised by its lumps and by the stretches between them, which both double.
use serde::Serialize;

use crate::analysis::piecewise::Points;

/// With fewer steps than this, no trend is determined.
pub const FEWEST_STEPS: usize = 8;

/// What the bytes did from step to step. The step numbers are those of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Trend {
    /// There are fewer than [`FEWEST_STEPS`] steps.
    TooFewSteps,
    /// The bytes never changed.
    Steady,
    /// The bytes went up and down, without a direction that differs from chance.
    Uneven,
    /// The bytes became less.
    Shrinks,
    /// The bytes grew in the first steps and not since then.
    WarmUp {
        /// The last step in which they grew.
        until_step: u64,
    },
    /// The bytes grew for longer and then stopped, as those of a cache do that is full.
    LevelledOff {
        /// The last step in which they grew.
        until_step: u64,
    },
    /// The bytes grow up to the last step.
    Grows {
        /// The first step that left more bytes than the one before.
        since_step: u64,
        /// Bytes a step.
        bytes_per_step: i64,
        /// Whether the growth becomes slower: it may be a cache that is not full yet.
        slowing: bool,
    },
    /// The bytes grow in ever larger lumps at ever longer distances, as those of a list do that doubles when it is full.
    Doubles {
        /// The first step that left more bytes than the one before.
        since_step: u64,
        /// Bytes a step, on the average of all steps.
        bytes_per_step: i64,
        /// The step of the latest lump.
        last_step: u64,
    },
}

impl Trend {
    /// Whether the bytes grow up to the last step.
    pub fn is_growth(&self) -> bool {
        matches!(self, Trend::Grows { .. } | Trend::Doubles { .. })
    }

    /// Bytes a step when the bytes grow, 0 otherwise.
    pub fn bytes_per_step(&self) -> i64 {
        match self {
            Trend::Grows { bytes_per_step, .. } | Trend::Doubles { bytes_per_step, .. } => *bytes_per_step,
            _ => 0,
        }
    }
}

/// The trend of `bytes`, one number for the end of each of `steps`. The step numbers increase.
pub fn trend(steps: &[u64], bytes: &[u64]) -> Trend {
    let count = steps.len().min(bytes.len());
    let (steps, bytes) = (&steps[..count], &bytes[..count]);
    if bytes.windows(2).all(|pair| pair[0] == pair[1]) && count > 1 {
        return Trend::Steady;
    }
    if count < FEWEST_STEPS {
        return Trend::TooFewSteps;
    }
    if let Some(doubling) = doubling(steps, bytes) {
        return doubling;
    }
    // The fit leaves out the first steps, so that a warm-up does not hide growth that comes later.
    let skipped = (count / 10).clamp(1, 5);
    let points = Points::new(&steps[skipped..], &bytes[skipped..]);
    if let Some(fit) = points.best().filter(|fit| points.grows(fit)) {
        let all = Points::new(steps, bytes);
        return Trend::Grows {
            since_step: steps[0] + all.since(&fit, skipped),
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

/// [`Trend::Doubles`], when the sizes of the lumps and their distances both grow by about a factor of two and the next
/// lump is not overdue.
fn doubling(steps: &[u64], bytes: &[u64]) -> Option<Trend> {
    // Index of the step, and bytes of the lump.
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
    // Only the last four lumps decide, because early ones may share a step or be spread over two.
    let tail = lumps.len() - 4;
    let about_two = |ratio: f64| (1.3..=2.7).contains(&ratio);
    let sizes = (tail..lumps.len() - 1).all(|at| about_two(lumps[at + 1].1 / lumps[at].1));
    let distances = (tail + 1..lumps.len() - 1).all(|at| about_two(distance(at, at + 1) / distance(at - 1, at)));
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

#[cfg(test)]
mod tests;
