//! From a few measured batches to all batches: what is live by the forecast, and what comes on top of it.
//!
//! ```text
//! needed = live + page tables + base                                        freed pages given back at once
//! needed = live + page tables + base + 0 .. (16 MiB + share x what grows)   the allocator as it is set
//! live   = live at the largest measured batch, exact + by how much the forecast of this batch is above that one's
//! ```
//!
//! The forecast follows the network's plan, and the lines over the batch that the workspace of each operator showed
//! ([`Forecast`]). It is least certain far from what was measured, so the answer's margin grows with the distance.
//!
//! Besides what is live there is a base: libtorch's heap from before `main`, tracker, libraries' written pages, stacks. It hardly
//! differs from batch to batch while the allocator gives every freed page back at once; so there the answer is sharp. An
//! allocator that keeps freed pages keeps those that it cannot use for what is asked next, and how many those are follows
//! no line: two runs of one command may differ by a fifth of what grows with the batch. There the answer is a range, from
//! what is needed with all pages given back to a share of what grows.
use anyhow::Result;
use serde::Serialize;

use super::case::Case;
use super::forecast::{Forecast, page_tables};
use crate::cli::MOST_INPUTS;

/// A run may need this much less than what was measured besides live bytes ...
const LESS_BYTES: f64 = 3.0 * 1048576.0;
/// ... or this much more: the tracker's tables grow by some MiB in a long run, and a reading every 5 ms misses the highest
/// instant.
const MORE_BYTES: f64 = 6.0 * 1048576.0;
/// Of what is live beyond the largest measured batch, one part in so many may be wrong: an operator takes another way, with
/// more workspace, from some batch on, and the forecast cannot know it.
const UNSURE: f64 = 128.0;
/// An allocator may keep so much in freed pages, whatever the batch, ...
const KEPT_BYTES: f64 = 16.0 * 1048576.0;
/// ... and besides this part of the live bytes that grow with the batch: more was never seen (docs/LIMITS.md has the runs).
const USUAL_SHARE: f64 = 0.30;
/// By how much the share of another batch may lie above those that were measured.
const MARGIN_SHARE: f64 = 0.06;

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

/// What is live at any batch.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) case: Case,
    pub(super) forecast: Forecast,
    /// The largest measured batch, and the bytes that were live.
    pub(super) measured: (u64, u64),
}

/// What a batch needs by the forecast, and how far that may be off.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Estimate {
    /// Parameters, buffers, gradients and the optimizer's state, which no batch changes.
    pub(super) fixed_bytes: u64,
    /// Live at the largest measured batch.
    pub(super) measured_bytes: u64,
    /// What a process needs besides its live bytes and what the allocator keeps.
    pub(super) base_bytes: f64,
    /// The same with every freed page given back, at least.
    pub(super) least_base_bytes: f64,
    /// What the allocator keeps besides at most, whatever the batch, ...
    pub(super) kept_bytes: f64,
    /// ... and as a part of the live bytes that grow with the batch.
    pub(super) share: f64,
    #[serde(skip)]
    pub(super) live: Live,
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

impl Live {
    /// Live bytes at the peak of a step of `batch`.
    pub(super) fn at(&self, batch: u64) -> Result<u64> {
        let forecast = |batch| -> Result<u64> { Ok(self.forecast.live(batch, &self.case.step(batch)?)) };
        let (largest, live) = self.measured;
        Ok((live + forecast(batch)?).saturating_sub(forecast(largest)?))
    }
}

impl Estimate {
    /// Of runs whose allocator gives every freed page back at once. `None` without a point.
    pub(super) fn given_back(points: &[Point], live: &Live) -> Result<Option<Estimate>> {
        if points.is_empty() {
            return Ok(None);
        }
        let besides = || points.iter().map(Point::besides);
        let fixed = live.case.fixed()?;
        Ok(Some(Estimate {
            fixed_bytes: fixed.parameters + fixed.buffers + fixed.gradients + fixed.optimizer_state,
            measured_bytes: live.measured.1,
            base_bytes: besides().fold(f64::NEG_INFINITY, f64::max),
            least_base_bytes: besides().fold(f64::INFINITY, f64::min),
            kept_bytes: 0.0,
            share: 0.0,
            live: live.clone(),
        }))
    }

    /// Of runs whose allocator is as somebody has set it. Nobody needs less than with all pages `given_back`; where that
    /// was not measured, the least is what `points` needed least.
    pub(super) fn as_set(points: &[Point], given_back: Option<&Estimate>, live: &Live) -> Result<Option<Estimate>> {
        let Some(estimate) = Estimate::given_back(points, live)? else { return Ok(None) };
        let base_bytes = estimate.least_base_bytes;
        let share = |point: &Point| {
            let beyond = (point.besides() - base_bytes - KEPT_BYTES - MORE_BYTES).max(0.0);
            beyond / estimate.grown(point.live_bytes).max(1.0)
        };
        let share = (points.iter().map(share).fold(0.0, f64::max) + MARGIN_SHARE).max(USUAL_SHARE);
        let least_base_bytes = given_back.map_or(base_bytes, |estimate| estimate.least_base_bytes.min(base_bytes));
        Ok(Some(Estimate { base_bytes, least_base_bytes, kept_bytes: KEPT_BYTES, share, ..estimate }))
    }

    /// What of `live` bytes grows with the batch.
    fn grown(&self, live: u64) -> f64 {
        live.saturating_sub(self.fixed_bytes) as f64
    }

    /// What `batch` images are expected to need.
    pub(super) fn at(&self, batch: u64) -> Result<Expected> {
        let live = self.live.at(batch)?;
        let beyond = live.saturating_sub(self.measured_bytes);
        let unsure = beyond as f64 / UNSURE;
        let sure = (live + page_tables(beyond)) as f64;
        let least = sure + self.least_base_bytes - LESS_BYTES - unsure;
        let kept = self.kept_bytes + self.share * self.grown(live);
        let most = sure + self.base_bytes + kept + MORE_BYTES + unsure;
        Ok(Expected {
            least_bytes: least.max(0.0) as u64,
            bytes: ((least + most) / 2.0).max(0.0) as u64,
            most_bytes: most as u64,
        })
    }

    /// Whether `batch` fits into `budget` bytes.
    pub(super) fn verdict(&self, batch: u64, budget: u64) -> Result<Verdict> {
        Ok(match self.at(batch)? {
            expected if expected.most_bytes <= budget => Verdict::Fits,
            expected if expected.least_bytes > budget => Verdict::DoesNotFit,
            _ => Verdict::TooClose,
        })
    }

    /// The largest batch that fits, 0 if none does, and the smallest that does not.
    pub(super) fn edge(&self, budget: u64) -> Result<(u64, u64)> {
        let first = |holds: &dyn Fn(Verdict) -> bool| -> Result<u64> {
            let (mut below, mut above) = (0, MOST_INPUTS + 1);
            while above - below > 1 {
                let middle = below + (above - below) / 2;
                *(if holds(self.verdict(middle, budget)?) { &mut above } else { &mut below }) = middle;
            }
            Ok(above)
        };
        let fits = first(&|verdict| verdict != Verdict::Fits)? - 1;
        let fits = if fits < self.live.case.smallest() { 0 } else { fits };
        Ok((fits, first(&|verdict| verdict == Verdict::DoesNotFit)?))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::ModelName;
    use crate::optimizer::Optimizer;

    const MIB: u64 = 1 << 20;

    /// LeNet-5, 0.7 MiB of parameters, gradients and state, as if one of its operators had `fixed` and for each image `each` MiB of
    /// workspace, and `largest` had been measured. Few images have less than that in tensors, so that the operator is where the
    /// peak is.
    pub(in crate::fit) fn live(fixed: u64, each: u64, largest: u64) -> Live {
        let case = Case::reference(ModelName::LeNet5, Optimizer::default());
        let forecast = Forecast::of_workspace(fixed * MIB, each * MIB);
        Live { case, forecast, measured: (largest, (fixed + largest * each) * MIB) }
    }

    /// Batch and needed, in MiB; live are 80, and 10 for each image.
    fn points(of: &[(u64, u64)]) -> Vec<Point> {
        let point = |&(batch, needed): &(u64, u64)| Point {
            batch,
            unreclaimable_bytes: needed * MIB,
            live_bytes: (80 + 10 * batch) * MIB,
            file_bytes: 0,
            step_ns: 0,
        };
        of.iter().map(point).collect()
    }

    fn given_back(of: &[(u64, u64)], live: &Live) -> Estimate {
        Estimate::given_back(&points(of), live).expect("can be planned").expect("points")
    }

    fn as_set(of: &[(u64, u64)], given_back: Option<&Estimate>, live: &Live) -> Estimate {
        Estimate::as_set(&points(of), given_back, live).expect("can be planned").expect("points")
    }

    fn mib(estimate: &Estimate, batch: u64) -> [u64; 2] {
        let Expected { least_bytes, most_bytes, .. } = estimate.at(batch).expect("can be planned");
        [least_bytes, most_bytes].map(|bytes| bytes.div_ceil(MIB))
    }

    /// Live 80 + 10 B, 20 or 21 besides. At 30 images: 380 + 20 - 3 .. 380 + 21 + 6. At 158, which are 1,280 more: 1,660 + 2.5 of page
    /// tables + 20 - 3 - 10 .. 1,660 + 2.5 + 21 + 6 + 10.
    #[test]
    fn pages_given_back_leave_a_narrow_margin_that_grows_with_the_distance() {
        let estimate = given_back(&[(2, 121), (30, 400)], &live(80, 10, 30));
        assert_eq!(mib(&estimate, 30), [397, 407]);
        assert_eq!(mib(&estimate, 158), [1670, 1700]);
        assert_eq!(estimate.edge(407 * MIB).expect("can be planned"), (30, 32), "31 need 407 at least, 32 need 417");
        let verdicts = [30, 31, 32].map(|batch| estimate.verdict(batch, 407 * MIB).expect("can be planned"));
        assert_eq!(verdicts, [Verdict::Fits, Verdict::TooClose, Verdict::DoesNotFit]);
    }

    /// 20 besides at the smallest batch. At 20 images 222 besides: 180 beyond base, margin and the 16 that are always kept, of the
    /// 279.3 that grow: 64 %, with the margin 70 %. So 10 images, of whose 180 179.3 grow, may need 180 + 20 + 16 + 126 + 6. They
    /// need no less than with pages given back: 180 + 15 - 3.
    #[test]
    fn what_the_allocator_keeps_grows_with_the_batch() {
        let live = live(80, 10, 20);
        let sharp = given_back(&[(1, 105), (20, 297)], &live);
        let estimate = as_set(&[(1, 110), (10, 216), (20, 502)], Some(&sharp), &live);
        assert!((estimate.share - (180.0 / 279.3 + 0.06)).abs() < 1e-3, "{}", estimate.share);
        assert_eq!(mib(&estimate, 10), [192, 349]);
    }

    /// No share was seen in two runs, which proves nothing about a third one: 16, and 30 % of the 279.3 MiB that grow.
    #[test]
    fn an_allocator_that_kept_nothing_may_keep_a_share_the_next_time() {
        let estimate = as_set(&[(2, 120), (20, 300)], None, &live(80, 10, 20));
        assert_eq!(mib(&estimate, 20), [297, 406]);
    }

    #[test]
    fn no_batch_fits_into_less_than_the_fixed_bytes() {
        let live = live(80, 10, 30);
        assert_eq!(given_back(&[(2, 120), (30, 400)], &live).edge(90 * MIB).expect("can be planned"), (0, 1));
        assert!(Estimate::given_back(&[], &live).expect("can be planned").is_none(), "nothing was measured");
        assert!(Estimate::as_set(&[], None, &live).expect("can be planned").is_none());
    }
}
