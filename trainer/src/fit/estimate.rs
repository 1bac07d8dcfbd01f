//! From a few measured batches to all batches: two lines for the live bytes, and what comes on top of them.
//!
//! What a step needs is parameters, gradients and optimizer state, which no batch changes, and activations, which grow
//! with the batch. Its peak is the highest of many instants, each of which lies on a straight line over the batch: so the
//! peak is a line that bends upwards. At small batches it lies late in the backward pass, when gradients are there and
//! activations are half gone, and rises less for each image than the activations of a whole forward pass, which the
//! layers' shapes tell to the byte. Beyond the largest measured batch it therefore lies between two lines:
//!
//! ```text
//! bytes                               . rises as the shapes say
//!   |                            . '  . rises as between the last two measured batches
//!   |                     _o ' . '
//!   |    o____o____o_-- '   largest measured batch
//!   +------------------------------------------------ batch
//! ```
//!
//! Besides what is live there is a base: tracker, libraries' written pages, stacks and page tables. It hardly differs
//! from batch to batch while the allocator gives every freed page back at once; so there the answer is sharp. An
//! allocator that keeps freed pages keeps those that it cannot use for what is asked next, and how many those are follows
//! no line: two runs of one command may differ by a fifth of what grows with the batch. There the answer is a range, from
//! what is needed with all pages given back to a share of what grows.
use serde::Serialize;

/// A run may need this much less than what was measured besides live bytes ...
const LESS_BYTES: f64 = 3.0 * 1048576.0;
/// ... or this much more: the tracker's tables grow by some MiB in a long run, and a reading every 5 ms misses the highest
/// instant.
const MORE_BYTES: f64 = 6.0 * 1048576.0;
/// An allocator may keep so much in freed pages, whatever the batch, ...
const KEPT_BYTES: f64 = 16.0 * 1048576.0;
/// ... and besides this part of the live bytes that grow with the batch: more was never seen (docs/LIMITS.md has the runs).
const USUAL_SHARE: f64 = 0.30;
/// By how much the share of another batch may lie above those that were measured.
const MARGIN_SHARE: f64 = 0.06;
/// No batch beyond this is considered.
const MOST_IMAGES: u64 = 1_000_000;

/// One measured batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Point {
    pub(super) batch: u64,
    /// Most bytes at once that the kernel could not reclaim.
    pub(super) unreclaimable_bytes: u64,
    /// Most live bytes, exact.
    pub(super) live_bytes: u64,
    /// Bytes of files that were resident: the kernel can drop them and read them again.
    pub(super) file_bytes: u64,
    /// Time of a typical step.
    pub(super) step_ns: u64,
}

impl Point {
    fn besides(&self) -> f64 {
        self.unreclaimable_bytes as f64 - self.live_bytes as f64
    }
}

/// The lines over the batch, and what comes on top.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Estimate {
    /// Live bytes that do not depend on the batch.
    pub(super) fixed_bytes: f64,
    /// Live bytes of each image, at most.
    pub(super) bytes_an_image: f64,
    /// Live bytes of each image beyond the largest measured batch, at least.
    pub(super) least_bytes_an_image: f64,
    /// The largest measured batch.
    pub(super) largest_measured: u64,
    /// What a process needs besides its live bytes and what the allocator keeps.
    pub(super) base_bytes: f64,
    /// The same with every freed page given back, at least.
    pub(super) least_base_bytes: f64,
    /// What the allocator keeps besides at most, whatever the batch, ...
    pub(super) kept_bytes: f64,
    /// ... and as a part of the live bytes that grow with the batch.
    pub(super) share: f64,
}

/// What a batch is expected to need.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Expected {
    pub(super) least_bytes: u64,
    pub(super) bytes: u64,
    pub(super) most_bytes: u64,
}

/// Whether a batch fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// With the whole margin.
    Fits,
    /// The budget lies inside of the margin.
    TooClose,
    /// Not even without the margin.
    DoesNotFit,
}

impl Estimate {
    /// Of runs whose allocator gives every freed page back at once. `points` are in the order of their batches;
    /// `shapes_an_image` are the bytes that an image's input and saved activations have by their shapes. `None` of fewer
    /// than two points.
    pub(super) fn given_back(points: &[Point], shapes_an_image: u64) -> Option<Estimate> {
        let besides = || points.iter().map(Point::besides);
        let base_bytes = besides().fold(f64::NEG_INFINITY, f64::max);
        let least_base_bytes = besides().fold(f64::INFINITY, f64::min);
        Estimate::lines(points, shapes_an_image).map(|lines| Estimate { base_bytes, least_base_bytes, ..lines })
    }

    /// Of runs whose allocator is as somebody has set it. Nobody needs less than with all pages `given_back`; where that
    /// was not measured, the least is what `points` needed least.
    pub(super) fn as_set(points: &[Point], given_back: Option<&Estimate>, shapes_an_image: u64) -> Option<Estimate> {
        let lines = Estimate::lines(points, shapes_an_image)?;
        let base_bytes = points.iter().map(Point::besides).fold(f64::INFINITY, f64::min);
        let share = |point: &Point| {
            let beyond = (point.besides() - base_bytes - KEPT_BYTES - MORE_BYTES).max(0.0);
            beyond / (lines.bytes_an_image * point.batch as f64).max(1.0)
        };
        let share = (points.iter().map(share).fold(0.0, f64::max) + MARGIN_SHARE).max(USUAL_SHARE);
        let least_base_bytes = given_back.map_or(base_bytes, |estimate| estimate.least_base_bytes.min(base_bytes));
        Some(Estimate { base_bytes, least_base_bytes, kept_bytes: KEPT_BYTES, share, ..lines })
    }

    /// The lines through the last of `points`, with nothing on top.
    fn lines(points: &[Point], shapes_an_image: u64) -> Option<Estimate> {
        let [.., before, last] = points else { return None };
        let rise = last.live_bytes.saturating_sub(before.live_bytes) as f64;
        let least_bytes_an_image = rise / (last.batch - before.batch) as f64;
        let bytes_an_image = least_bytes_an_image.max(shapes_an_image as f64);
        let fixed_bytes = last.live_bytes as f64 - bytes_an_image * last.batch as f64;
        Some(Estimate {
            fixed_bytes,
            bytes_an_image,
            least_bytes_an_image,
            largest_measured: last.batch,
            base_bytes: 0.0,
            least_base_bytes: 0.0,
            kept_bytes: 0.0,
            share: 0.0,
        })
    }

    /// What `batch` images are expected to need.
    pub(super) fn at(&self, batch: u64) -> Expected {
        let images = self.bytes_an_image * batch as f64;
        let steep = self.fixed_bytes + images;
        let beyond = batch as f64 - self.largest_measured as f64;
        // Below the largest measured batch the flat line is the upper one.
        let flat = steep - (self.bytes_an_image - self.least_bytes_an_image) * beyond;
        let least = steep.min(flat) + self.least_base_bytes - LESS_BYTES;
        let most = steep.max(flat) + self.base_bytes + self.kept_bytes + self.share * images + MORE_BYTES;
        Expected {
            least_bytes: least.max(0.0) as u64,
            bytes: ((least + most) / 2.0).max(0.0) as u64,
            most_bytes: most as u64,
        }
    }

    /// Whether `batch` fits into `budget` bytes.
    pub(super) fn verdict(&self, batch: u64, budget: u64) -> Verdict {
        match self.at(batch) {
            expected if expected.most_bytes <= budget => Verdict::Fits,
            expected if expected.least_bytes > budget => Verdict::DoesNotFit,
            _ => Verdict::TooClose,
        }
    }

    /// The largest batch that fits, 0 if none does, and the smallest that does not.
    pub(super) fn edge(&self, budget: u64) -> (u64, u64) {
        let first = |holds: &dyn Fn(u64) -> bool| {
            let (mut below, mut above) = (0, MOST_IMAGES);
            while above - below > 1 {
                let middle = below + (above - below) / 2;
                *(if holds(middle) { &mut above } else { &mut below }) = middle;
            }
            above
        };
        let fits = first(&|batch| self.verdict(batch, budget) != Verdict::Fits) - 1;
        (fits, first(&|batch| self.verdict(batch, budget) == Verdict::DoesNotFit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Batch, needed and live, in MiB.
    fn points(of: &[(u64, u64, u64)]) -> Vec<Point> {
        let point = |&(batch, needed, live): &(u64, u64, u64)| Point {
            batch,
            unreclaimable_bytes: needed * MIB,
            live_bytes: live * MIB,
            file_bytes: 0,
            step_ns: 0,
        };
        of.iter().map(point).collect()
    }

    fn mib(expected: Expected) -> [u64; 2] {
        [expected.least_bytes, expected.most_bytes].map(|bytes| bytes.div_ceil(MIB))
    }

    /// Live 80 + 10 B, 20 or 21 besides. At 40 images: 480 + 20 - 3 .. 480 + 21 + 6.
    #[test]
    fn pages_given_back_leave_one_line_and_a_narrow_margin() {
        let line = Estimate::given_back(&points(&[(2, 121, 100), (30, 400, 380)]), 0).expect("two points");
        assert_eq!((line.bytes_an_image, line.fixed_bytes), (10.0 * MIB as f64, 80.0 * MIB as f64));
        assert_eq!(mib(line.at(40)), [497, 507]);
        assert_eq!(line.edge(507 * MIB), (40, 42), "41 need 507 at least, 42 need 517");
        assert_eq!(line.verdict(40, 507 * MIB), Verdict::Fits);
        assert_eq!(line.verdict(41, 507 * MIB), Verdict::TooClose);
        assert_eq!(line.verdict(42, 507 * MIB), Verdict::DoesNotFit);
    }

    /// The points rise by 4 MiB an image and the shapes say 5. At 10 images, two beyond the last point: 112 + 8 and 20
    /// besides less 3, or 112 + 10 and 20 besides and 6. At 6, two before it: 112 - 10, or 112 - 8.
    #[test]
    fn the_line_rises_as_measured_or_as_the_shapes_say() {
        let line = Estimate::given_back(&points(&[(4, 116, 96), (8, 132, 112)]), 5 * MIB).expect("points");
        assert_eq!(mib(line.at(10)), [137, 148]);
        assert_eq!(mib(line.at(6)), [119, 130]);
        assert_eq!(mib(line.at(8)), [129, 138]);
    }

    /// 20 besides at the smallest batch. At 20 images 222 besides: 180 beyond base, margin and the 16 that are always kept,
    /// of the 200 that grow. With the margin the share is 96 %, so 10 images may need 180 + 20 + 16 + 96 + 6. They need
    /// no less than with pages given back: 180 + 15 - 3.
    #[test]
    fn what_the_allocator_keeps_grows_with_the_batch() {
        let shape = [(1, 110, 90), (10, 216, 180), (20, 502, 280)];
        let given_back = Estimate::given_back(&points(&[(1, 105, 90), (20, 297, 280)]), 0).expect("points");
        let line = Estimate::as_set(&points(&shape), Some(&given_back), 0).expect("points");
        assert!((line.share - 0.96).abs() < 1e-9, "{line:?}");
        assert_eq!(mib(line.at(10)), [192, 318]);
    }

    /// No share was seen in two runs, which proves nothing about a third one. At 20 images 16 and 60 of the 200 MiB that grow.
    #[test]
    fn an_allocator_that_kept_nothing_may_keep_a_share_the_next_time() {
        let line = Estimate::as_set(&points(&[(2, 120, 100), (30, 400, 380)]), None, 0).expect("two points");
        assert_eq!(mib(line.at(20)), [297, 382]);
    }

    #[test]
    fn no_batch_fits_into_less_than_the_fixed_bytes() {
        let line = Estimate::given_back(&points(&[(2, 120, 100), (30, 400, 380)]), 0).expect("two points");
        assert_eq!(line.edge(90 * MIB), (0, 1));
        assert_eq!(Estimate::given_back(&points(&[(2, 120, 100)]), 0), None, "one point is no line");
        assert_eq!(Estimate::as_set(&points(&[(2, 120, 100)]), None, 0), None);
    }
}
