//! From a few measured batches to all batches: an exact line for the live bytes, and what the allocator adds to them.
//!
//! What a step needs is parameters, gradients and optimizer state, which no batch changes, and activations, which grow
//! with the batch. Its peak is the highest of many instants, each of which lies on a straight line over the batch: so the
//! peak is a line that bends upwards. At small batches it lies late in the backward pass, when gradients are there and
//! activations are half gone, and rises less for each image than the activations of a whole forward pass, which the
//! layers' shapes tell to the byte. The line here therefore never rises less than those.
//!
//! ```text
//! needed = live + base + (0 .. share) x (live bytes that grow with the batch)
//! ```
//!
//! The base is the tracker, libraries' written pages, stacks and page tables. The share is what the allocator keeps in
//! pages that it has freed and cannot use for what is asked next. It follows no line: the next batch may need hardly any
//! of it. So it lies between nothing and the larger one of the two largest batches measured, with a margin.
use serde::Serialize;

/// What the allocator and the kernel need differs by this much between two batches, whatever their size.
const MARGIN_BYTES: f64 = 6.0 * 1048576.0;
/// By how much the allocator's share at another batch may lie above those that were measured.
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
}

/// The line over the batch, and what comes on top.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Estimate {
    /// Live bytes that do not depend on the batch.
    pub(super) fixed_bytes: f64,
    /// Live bytes of each image.
    pub(super) bytes_an_image: f64,
    /// What every process needs besides its live bytes.
    pub(super) base_bytes: f64,
    /// What the allocator keeps besides at most, as a part of the live bytes that grow with the batch.
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
    /// The line through the last two of `points`, which are in the order of their batches, but rising by
    /// `shapes_an_image` at least: the bytes that an image's input and saved activations have by their shapes. `None` of
    /// fewer than two points.
    pub(super) fn through(points: &[Point], shapes_an_image: u64) -> Option<Estimate> {
        let [.., before, last] = points else { return None };
        let rise = last.live_bytes as f64 - before.live_bytes as f64;
        let bytes_an_image = (rise / (last.batch - before.batch) as f64).max(shapes_an_image as f64);
        let fixed_bytes = last.live_bytes as f64 - bytes_an_image * last.batch as f64;
        let besides = |point: &Point| point.unreclaimable_bytes as f64 - point.live_bytes as f64;
        let base_bytes = points.iter().map(besides).fold(f64::INFINITY, f64::min);
        let share = |point: &Point| {
            let beyond = (besides(point) - base_bytes - MARGIN_BYTES).max(0.0);
            beyond / (bytes_an_image * point.batch as f64).max(1.0)
        };
        let share = share(before).max(share(last)) + MARGIN_SHARE;
        Some(Estimate { fixed_bytes, bytes_an_image, base_bytes, share })
    }

    /// What `batch` images are expected to need.
    pub(super) fn at(&self, batch: u64) -> Expected {
        let images = self.bytes_an_image * batch as f64;
        let besides_the_share = self.fixed_bytes + images + self.base_bytes;
        let with = |share: f64| besides_the_share + share * images;
        Expected {
            least_bytes: (with(0.0) - MARGIN_BYTES) as u64,
            bytes: with(self.share / 2.0) as u64,
            most_bytes: (with(self.share) + MARGIN_BYTES) as u64,
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
                if holds(middle) { above = middle } else { below = middle }
            }
            above
        };
        let first_not_certain = first(&|batch| self.verdict(batch, budget) != Verdict::Fits);
        (first_not_certain - 1, first(&|batch| self.verdict(batch, budget) == Verdict::DoesNotFit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Batch, needed and live MiB of each.
    fn points(of: &[(u64, u64, u64)]) -> Vec<Point> {
        let point = |&(batch, needed, live): &(u64, u64, u64)| Point {
            batch,
            unreclaimable_bytes: needed * MIB,
            live_bytes: live * MIB,
            file_bytes: 0,
        };
        of.iter().map(point).collect()
    }

    fn mib(expected: Expected) -> [u64; 3] {
        [expected.least_bytes, expected.bytes, expected.most_bytes].map(|bytes| bytes.div_ceil(MIB))
    }

    /// Live 80 + 10 B, 20 besides whatever the batch: no share was seen, so it lies between 0 and 6 %. At 20 images, 200
    /// of 300 MiB grow with the batch: 300 - 6 .. 300 + 12 + 6.
    #[test]
    fn points_on_a_line() {
        let line = Estimate::through(&points(&[(2, 120, 100), (30, 400, 380)]), 0).expect("two points");
        assert_eq!(
            (line.bytes_an_image, line.fixed_bytes, line.base_bytes),
            (10.0 * MIB as f64, 80.0 * MIB as f64, 20.0 * MIB as f64)
        );
        assert_eq!(mib(line.at(20)), [294, 306, 318]);
        assert_eq!(line.edge(318 * MIB), (20, 23), "22 need 314 at least, 23 need 324");
        assert_eq!(line.verdict(20, 318 * MIB), Verdict::Fits);
        assert_eq!(line.verdict(21, 318 * MIB), Verdict::TooClose);
        assert_eq!(line.verdict(23, 318 * MIB), Verdict::DoesNotFit);
    }

    /// 20 besides at the smallest batch. At 10 images 36 besides: 10 beyond base and margin, of the 100 that grow; at 20
    /// images 66: 40 of 200. The larger share is 20 %, with the margin 26 %.
    #[test]
    fn what_the_allocator_keeps_grows_with_the_batch() {
        let line = Estimate::through(&points(&[(1, 110, 90), (10, 216, 180), (20, 346, 280)]), 0).expect("points");
        assert!((line.share - 0.26).abs() < 1e-9, "{line:?}");
        assert_eq!(mib(line.at(100)), [1100 - 6, 1100 + 130, 1100 + 260 + 6]);
    }

    /// The points rise by 4 MiB an image and the shapes say 5: the line goes on from the last point, by 5.
    #[test]
    fn the_line_rises_as_the_shapes_do_at_least() {
        let line = Estimate::through(&points(&[(4, 116, 96), (8, 132, 112)]), 5 * MIB).expect("points");
        assert_eq!(line.fixed_bytes, (112 - 40) as f64 * MIB as f64);
        assert_eq!(mib(line.at(10))[0], 72 + 50 + 20 - 6);
    }

    #[test]
    fn no_batch_fits_into_less_than_the_fixed_bytes() {
        let line = Estimate::through(&points(&[(2, 120, 100), (30, 400, 380)]), 0).expect("points");
        assert_eq!(line.edge(90 * MIB), (0, 1));
        assert_eq!(Estimate::through(&points(&[(2, 120, 100)]), 0), None, "one point is no line");
    }
}
