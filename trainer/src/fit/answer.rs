//! The answer in words and as JSON.
use anyhow::Result;
use serde::Serialize;

use super::estimate::{Estimate, Expected, Point, Verdict};
use super::forecast::Needed;
use super::trial::Pages;
use super::verified::Verified;
use crate::figures::mib;
use crate::optimizer::Optimizer;

/// Everything that is known in the end.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Answer {
    pub(super) model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) image_size: Option<u64>,
    /// Of texts, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) length: Option<u64>,
    /// The optimizer's name.
    pub(super) optimizer: &'static str,
    /// SGD alone has one.
    pub(super) momentum: Option<f64>,
    pub(super) budget_bytes: u64,
    /// The batch that was asked about.
    pub(super) batch: u64,
    pub(super) shapes_bytes_an_image: u64,
    /// What measured: `cgroup-v2`, `cgroup-v1` or `address-space`, which stands for /proc.
    pub(super) measured_by: &'static str,
    /// With the allocator as somebody has set it.
    #[serde(flatten)]
    pub(super) as_set: Part,
    /// With an allocator that gives every freed page back at once. `None` where the allocator cannot be told.
    pub(super) pages_given_back: Option<Part>,
    /// What the network reads, in words.
    #[serde(skip)]
    pub(super) input: String,
    /// How an optimizer is called in a sentence.
    #[serde(skip)]
    pub(super) optimizer_text: String,
}

/// What is known of runs whose allocator treats freed pages in one way.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Part {
    pub(super) verdict: Verdict,
    pub(super) expected: Expected,
    /// 0 when not even one image fits.
    pub(super) largest_that_fits: u64,
    pub(super) smallest_that_does_not: u64,
    /// What the largest batch that fits has live by the forecast, and needs; where none fits, the smallest that can be trained.
    pub(super) at_the_edge: Needed,
    pub(super) expected_at_the_edge: Expected,
    /// Live bytes of one image more than that.
    pub(super) bytes_an_image: u64,
    pub(super) estimate: Estimate,
    pub(super) points: Vec<Point>,
    pub(super) verified: Option<Verified>,
}

impl Part {
    /// What `estimate` says of `batch` and of all batches under `budget`.
    pub(super) fn new(estimate: Estimate, points: Vec<Point>, batch: u64, budget: u64) -> Result<Part> {
        let (largest_that_fits, smallest_that_does_not) = estimate.edge(budget)?;
        let live = &estimate.live;
        let edge = largest_that_fits.max(live.case.smallest());
        Ok(Part {
            verdict: estimate.verdict(batch, budget)?,
            expected: estimate.at(batch)?,
            largest_that_fits,
            smallest_that_does_not,
            at_the_edge: live.case.needed(edge, &live.forecast)?,
            expected_at_the_edge: estimate.at(edge)?,
            bytes_an_image: live.at(edge + 1)? - live.at(edge)?,
            estimate,
            points,
            verified: None,
        })
    }

    /// Whether runs contradicted the estimate.
    pub(super) fn is_wrong(&self) -> bool {
        self.verified.as_ref().is_some_and(|verified| verified.holds == Some(false))
    }

    fn verdict_text(&self, budget: u64) -> String {
        let verdict = match self.verdict {
            Verdict::Fits => "fits",
            Verdict::TooClose => "is too close to call",
            Verdict::DoesNotFit => "does not fit",
        };
        let Expected { least_bytes, most_bytes, .. } = self.expected;
        format!("{verdict}: it needs {} to {} of {}", mib(least_bytes), mib(most_bytes), mib(budget))
    }

    fn edge_text(&self) -> String {
        match self.largest_that_fits {
            0 => format!(
                "no batch fits: even {} needs {} at least; give a larger --budget or a smaller --image-size",
                match self.estimate.live.case.smallest() {
                    1 => "one image".to_owned(),
                    images => format!("the smallest that can be trained, {images},"),
                },
                mib(self.expected_at_the_edge.least_bytes)
            ),
            largest => format!(
                "the largest batch that fits is {largest}; the smallest that certainly does not is {}",
                self.smallest_that_does_not
            ),
        }
    }
}

impl Answer {
    /// What `optimizer` is called here.
    pub(super) fn of(optimizer: Optimizer) -> (&'static str, Option<f64>, String) {
        (optimizer.name.as_str(), optimizer.momentum(), optimizer.to_string())
    }

    /// Whether runs contradicted any of it.
    pub(super) fn is_wrong(&self) -> bool {
        self.as_set.is_wrong() || self.pages_given_back.as_ref().is_some_and(Part::is_wrong)
    }

    /// In words.
    pub(super) fn text(&self) -> String {
        let Answer { model, batch, input, optimizer_text, as_set, .. } = self;
        let mut text = format!(
            "{model} in training by {optimizer_text} with batch {batch}, {input}, {}\n{}",
            as_set.verdict_text(self.budget_bytes),
            as_set.edge_text()
        );
        if let Some(part) = &self.pages_given_back {
            text.push_str(&format!(
                "\nwith freed pages given back at once ({}) it {}; {}{}",
                Pages::typed(),
                part.verdict_text(self.budget_bytes),
                part.edge_text(),
                self.slower().map_or(String::new(), |times| format!("; a step takes {times:.2} times as long"))
            ));
        }
        let size = |bytes: f64| mib(bytes.max(0.0) as u64);
        let Estimate { fixed_bytes, base_bytes, kept_bytes, share, .. } = as_set.estimate;
        let Needed { plan_bytes, workspace_bytes, phase, layer, .. } = &as_set.at_the_edge;
        text.push_str(&format!(
            "\nby the plan, whatever the batch: {} (parameters, buffers, gradients, state of {optimizer_text}); for each image at \
             the edge {}; by the shapes of its input and saved activations alone: {}\n\
             most is live there in phase {phase}, layer {layer}: {} of tensors by the plan, {} inside of the operator\n\
             besides what is live: {} (libtorch's own heap, tracker, libraries' written pages, stacks, kernel), and in freed pages \
             that the allocator keeps up to {} and {:.0} % of the images' part",
            mib(fixed_bytes),
            mib(as_set.bytes_an_image),
            mib(self.shapes_bytes_an_image),
            mib(*plan_bytes),
            mib(*workspace_bytes),
            size(base_bytes),
            size(kept_bytes),
            share * 100.0
        ));
        if let Some(last) = as_set.points.last() {
            text.push_str(&format!(
                "\nbesides, {} of files were resident; the kernel drops them when memory is short, and reads them again",
                mib(last.file_bytes)
            ));
        }
        for (pages, part) in self.parts() {
            for point in &part.points {
                let by = if self.measured_by == "address-space" { "/proc" } else { self.measured_by };
                text.push_str(&format!(
                    "\nmeasured by {by}: batch {:>3}{} needed {}, of that {} live",
                    point.batch,
                    pages.text(),
                    mib(point.unreclaimable_bytes),
                    mib(point.live_bytes)
                ));
            }
        }
        for (pages, part) in self.parts() {
            text.push_str(&part.verified.as_ref().map_or(String::new(), |verified| verified.text(pages)));
        }
        text
    }

    fn parts(&self) -> impl Iterator<Item = (Pages, &Part)> {
        let given_back = self.pages_given_back.as_ref().map(|part| (Pages::GivenBack, part));
        [(Pages::AsSet, &self.as_set)].into_iter().chain(given_back)
    }

    /// How much longer a step of the largest measured batch takes with pages given back.
    fn slower(&self) -> Option<f64> {
        let (kept, given_back) = (self.as_set.points.last()?, self.pages_given_back.as_ref()?.points.last()?);
        (kept.step_ns > 0 && kept.batch == given_back.batch).then(|| given_back.step_ns as f64 / kept.step_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::estimate::tests::live;

    const MIB: u64 = 1 << 20;

    /// Live 80 + 10 B MiB, of that 0.7 of parameters, gradients and state, and 20 besides; as set, up to 16 MiB and 30 % of what
    /// grows more.
    fn answer(budget: u64) -> Answer {
        let point = |batch| Point {
            batch,
            unreclaimable_bytes: (100 + 10 * batch) * MIB,
            live_bytes: (80 + 10 * batch) * MIB,
            file_bytes: 70 * MIB,
            step_ns: 2_000_000,
        };
        let points = vec![point(2), point(40)];
        let slow = points.iter().map(|point| Point { step_ns: 3_000_000, ..*point }).collect();
        let live = live(80, 10, 40);
        let given_back = Estimate::given_back(&points, &live).expect("can be planned").expect("points");
        let as_set = Estimate::as_set(&points, Some(&given_back), &live).expect("can be planned").expect("points");
        let (optimizer, momentum, optimizer_text) = Answer::of(Optimizer::default());
        Answer {
            model: "resnet18".to_owned(),
            input: "images of 3x97x97".to_owned(),
            image_size: Some(97),
            length: None,
            optimizer,
            momentum,
            optimizer_text,
            budget_bytes: budget,
            batch: 20,
            shapes_bytes_an_image: 9 * MIB,
            measured_by: "cgroup-v1",
            as_set: Part::new(as_set, points, 20, budget).expect("can be planned"),
            pages_given_back: Some(Part::new(given_back, slow, 20, budget).expect("can be planned")),
        }
    }

    /// Of 406 MiB: 20 images need 300 - 3 to 300 + 6, and as set 16 and 30 % of 279.3 more; 30 need 406 at most, 31 need 407 at
    /// least.
    #[test]
    fn an_answer_in_words() {
        let text = answer(406 * MIB).text();
        for line in [
            "resnet18 in training by sgd with momentum 0.9 with batch 20, images of 3x97x97, fits: it needs 297.0 MiB to \
             405.8 MiB of 406.0 MiB",
            "the largest batch that fits is 20; the smallest that certainly does not is 31",
            "with freed pages given back at once (_RJEM_MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0) it fits: it needs \
             297.0 MiB to 306.0 MiB of 406.0 MiB; the largest batch that fits is 30; the smallest that certainly does not \
             is 31; a step takes 1.50 times as long",
            "most is live there in phase forward, layer operator: 0.0 MiB of tensors by the plan, 280.0 MiB inside of the operator",
            "measured by cgroup-v1: batch  40 needed 500.0 MiB, of that 480.0 MiB live",
            "measured by cgroup-v1: batch  40, pages given back needed 500.0 MiB, of that 480.0 MiB live",
        ] {
            assert!(text.lines().any(|found| found == line), "{line:?} is missing in\n{text}");
        }
    }

    /// The fields that scripts read stand where they stood; what is new stands beside them.
    #[test]
    fn an_answer_as_json() {
        let json = serde_json::to_value(answer(406 * MIB)).expect("an object");
        assert_eq!((&json["verdict"], &json["largest_that_fits"]), (&"fits".into(), &20.into()));
        assert_eq!((&json["optimizer"], &json["momentum"]), (&"sgd".into(), &0.9.into()));
        assert_eq!(json["pages_given_back"]["largest_that_fits"], 30);
        assert_eq!(json["points"][1]["batch"], 40);
    }

    #[test]
    fn nothing_fits_into_a_small_budget() {
        let text = answer(90 * MIB).text();
        assert!(
            text.contains("does not fit") && text.contains("no batch fits: even one image needs 107.0 MiB at least"),
            "{text}"
        );
    }
}
