//! Row 18: `checkpoint_sequential` and Revolve on ResNet-18, beside plans that know the bytes and times of each part.
use anyhow::{Context, Result};
use serde_json::Value;

use super::shared::{THREADS, claim, percent, table, titles};
use crate::chart::{self, Series};
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 18,
    title: "Checkpoints: checkpoint_sequential and Revolve",
    seed: "002, the plots of \"Comparison of Checkpoint sequential and Revolve\"",
    published: "Memory and time of both are compared by formulas over layers that are all alike, at batches of 1 and 8 and images \
                of 224 and 500 pixels. The drawn example has two segments.",
    work: Work { measurements, finding },
};

/// The seed's plots.
const CASES: [(u64, u64); 4] = [(1, 224), (8, 224), (1, 500), (8, 500)];
/// The case that the claims are about.
const CHOSEN: &str = "batch-8-image-224";
/// A plan has the lowest peak when it is no more than this above it: plans in bytes count in thousandths of the peak.
const NEAR: f64 = 1.001;
/// The pictures show plans that compute no more than this part of a step again.
const DRAWN: f64 = 1.0;
/// What the study asks of plans in bytes: so much less of the peak than the best number of segments, at equal time.
const ASKED: f64 = 0.10;

fn measurements(depth: Depth) -> Vec<Measurement> {
    let cases = if depth == Depth::Quick { &CASES[..2] } else { &CASES[..] };
    let of = |&(batch, size): &(u64, u64)| {
        let command = format!(
            "trainer plan --model resnet18 --batch {batch} --image-size {size} --checkpoint sequential {THREADS} --json"
        );
        Measurement::json(format!("batch-{batch}-image-{size}"), command)
    };
    cases.iter().map(of).collect()
}

/// A plan: what is typed for it, its peak in bytes, and the time of what it computes again as a part of a step.
struct Plan<'a> {
    name: &'a str,
    peak: f64,
    again: f64,
}

/// What was measured for one batch and size.
struct Case<'a> {
    name: &'a str,
    plans: Vec<Plan<'a>>,
    /// The peak without checkpoints.
    whole: f64,
    measured: &'a Value,
}

impl<'a> Case<'a> {
    fn of(name: &'a str, measured: &'a Value) -> Result<Case<'a>> {
        let all = list(measured, "/others")?;
        // One segment keeps everything.
        let whole = all.iter().find(|plan| plan["plan"] == "sequential:1").context("no plan keeps everything")?;
        let step = number(whole, "/ns")? - number(whole, "/recompute_ns")?;
        let plan = |plan: &'a Value| {
            let again = number(plan, "/recompute_ns")? / step;
            Ok(Plan { name: text(plan, "/plan")?, peak: number(plan, "/peak_bytes")?, again })
        };
        let plans = all.iter().map(plan).collect::<Result<_>>()?;
        Ok(Case { name, plans, whole: number(whole, "/peak_bytes")?, measured })
    }

    fn family(&self, begin: &str) -> impl Iterator<Item = &Plan<'a>> {
        self.plans.iter().filter(move |plan| plan.name.starts_with(begin))
    }

    /// The lowest peak of all plans.
    fn lowest(&self) -> f64 {
        self.plans.iter().map(|plan| plan.peak).fold(f64::INFINITY, f64::min)
    }

    /// The plan of a family that takes the least time among those with the family's lowest peak.
    fn best(&self, begin: &str) -> Result<&Plan<'a>> {
        let lowest = self.family(begin).map(|plan| plan.peak).fold(f64::INFINITY, f64::min);
        let near = self.family(begin).filter(|plan| plan.peak <= lowest * NEAR);
        near.min_by(|one, other| one.again.total_cmp(&other.again))
            .with_context(|| format!("there is no plan `{begin}`"))
    }

    fn figure(&self) -> Result<Figure> {
        let series = |begin: &str, name: &str| {
            let dots =
                self.family(begin).filter(|plan| plan.again <= DRAWN).map(|plan| (100.0 * plan.again, mb(plan.peak)));
            let mut dots: Vec<(f64, f64)> = dots.collect();
            dots.sort_by(|one, other| one.0.total_cmp(&other.0));
            Series { name: name.to_owned(), dots }
        };
        let title = format!("ResNet-18, {}: peak against time", self.in_words());
        let titles = titles(&title, "time of what is computed again, % of a step", "peak, MB");
        let all = [
            series("sequential:", "checkpoint_sequential"),
            series("revolve:", "Revolve"),
            series("bytes:", "by bytes and seconds"),
        ];
        Ok(Figure { name: self.name.to_owned(), title, svg: chart::points(&titles, &all)? })
    }

    /// `batch 8, image 224`.
    fn in_words(&self) -> String {
        self.name.replacen('-', " ", 1).replace("-image-", ", image ")
    }
}

fn mb(bytes: f64) -> f64 {
    bytes / 1e6
}

fn finding(results: &Results) -> Result<Finding> {
    let cases = results.beginning("batch-");
    let cases = cases.into_iter().map(|(name, measured)| Case::of(name, measured)).collect::<Result<Vec<_>>>()?;
    let chosen = cases.iter().find(|case| case.name == CHOSEN).with_context(|| format!("{CHOSEN} was not measured"))?;
    let two = chosen.family("sequential:2").find(|plan| plan.name == "sequential:2").context("no two segments")?;
    let (segments, revolve, bytes) = (chosen.best("sequential:")?, chosen.best("revolve:")?, chosen.best("bytes:")?);
    let parts = list(chosen.measured, "/parts")?;
    // The loss is listed too.
    let count = (parts.len() - 1) as f64;
    let kept = 1.0 + ((count - 1.0) / 2.0).ceil();
    let saved_bytes = parts.iter().map(|part| number(part, "/saved_bytes")).collect::<Result<Vec<f64>>>()?;
    let maps = saved_bytes.iter().sum::<f64>();
    let first = saved_bytes[..(count / 2.0) as usize].iter().sum::<f64>() / maps;
    let of_maps = (chosen.whole - two.peak) / maps;
    let lower = 1.0 - bytes.peak / segments.peak;
    let claims = vec![
        claim(
            "two segments of equal parts lower the memory of the maps",
            format!("to {kept} of {count} maps: by {}", percent(1.0 - kept / count)),
            format!(
                "the peak falls from {:.1} to {:.1} MB: by {} of the maps' {:.1} MB",
                mb(chosen.whole),
                mb(two.peak),
                percent(of_maps),
                mb(maps)
            ),
            Holds::if_so(
                of_maps >= 1.0 - kept / count,
                format!(
                    "the parts are not alike: the first half of them saves {} of all maps' bytes, and gradients and parameters are \
                     in the peak too",
                    percent(first)
                ),
            ),
        ),
        claim(
            "Revolve needs less memory than checkpoint_sequential",
            "fewer maps at once",
            format!("lowest peaks {:.1} and {:.1} MB", mb(revolve.peak), mb(segments.peak)),
            Holds::if_so(
                revolve.peak * NEAR < segments.peak,
                "both end at the peak that is inside one part, which no plan can split",
            ),
        ),
        claim(
            "asked by this study: plans in bytes have a 10 % lower peak than the best number of segments, at equal time",
            percent(ASKED),
            percent(lower),
            // Times of one measurement have no interval. They are not needed where no plan has so low a peak at any time.
            if lower >= ASKED {
                Holds::Unknown("the times of one measurement do not tell whether the plans take equal time".to_owned())
            } else {
                Holds::No(
                    "no plan in bytes of the class that is searched (persistent schedules) has so low a peak, whatever its time: the lowest is \
                     inside one part".to_owned(),
                )
            },
        ),
    ];
    let row = |case: &Case<'_>| -> Result<Vec<String>> {
        let best = |begin: &str| -> Result<String> {
            let plan = case.best(begin)?;
            Ok(format!("{:.1} MB, {} ({})", mb(plan.peak), percent(plan.again), plan.name))
        };
        let first = [case.in_words(), format!("{:.1} MB", mb(case.whole)), format!("{:.1} MB", mb(case.lowest()))];
        Ok(first.into_iter().chain([best("sequential:")?, best("revolve:")?, best("bytes:")?]).collect())
    };
    let heads =
        ["case", ">without checkpoints", ">lowest peak", ">checkpoint_sequential", ">Revolve", ">by bytes and seconds"];
    let rows = cases.iter().map(row).collect::<Result<_>>()?;
    Ok(Finding {
        claims,
        number: format!(
            "at {} the peak falls by {} at most",
            chosen.in_words(),
            percent(1.0 - chosen.lowest() / chosen.whole)
        ),
        figures: cases.iter().rev().map(Case::figure).collect::<Result<_>>()?,
        tables: vec![table("The lowest peak of each way, and what it costs", &heads, rows)],
        notes: vec![
            "Peaks are requested bytes of a whole step, as a simulator says from measured parts; percentages are times of what is \
             computed again, of a step's forward and backward passes, from one measurement: no verdict stands on them. The \
             pictures leave out plans that compute more than a whole step again, which are Revolve's with few slots. The formula of the first claim is read as s - 1 + ceil((l - s + 1) / s) \
             maps of l for s segments; it is damaged in our copy of the document. [CHECKPOINTS](../CHECKPOINTS.md) has runs beside the plans."
                .to_owned(),
        ],
    })
}
