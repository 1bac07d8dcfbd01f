//! Row 21: training in mixed precision beside fp32, five runs each.
use alloc_timeline::Category;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use trainer_statistics::Summary;

use super::shared::{MIB, THREADS, boxes, claim, last_accuracy, least_to_most, mib, points, table, timed, titles};
use crate::chart::{self, COLOURS, Part, of_category};
use crate::reproduce::results::{Depth, Results, list, number};
use crate::reproduce::spec::{FOLDER, Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 21,
    title: "Mixed precision against fp32, five runs each",
    seed: "004, Figures 2 and 3",
    published: "Mixed precision is 6 % faster in the mean, with a lower variance of the time and a far larger one of the accuracy: in the worst \
                case 66 % where fp32 has 86 %.",
    work: Work { measurements, finding },
};

const PRECISIONS: [&str; 2] = ["fp32", "bf16"];
/// The document's, and how many two variances must be told apart by.
const RUNS: u64 = 5;
/// Of two variances of five values each from one normal distribution, the larger is more than 6.39 times the smaller once in
/// ten times: the 95 % quantile of F with 4 and 4 degrees of freedom, on either side.
const APART: f64 = 6.39;
fn measurements(depth: Depth) -> Vec<Measurement> {
    let work = match depth {
        Depth::Quick => "--batch 16 --image-size 32 --steps 48",
        Depth::Full => "--batch 16 --image-size 64 --steps 120",
    };
    let timeline = format!("{FOLDER}/run.timeline.json");
    let of = |(seed, precision): (u64, &str)| Measurement {
        name: format!("{precision}-{seed}"),
        commands: vec![
            format!(
                "trainer train --model resnet18 {work} --classes 10 --held-out 128 --precision {precision} --seed {seed} {THREADS} \
                 --json-times --out {timeline}"
            ),
            format!("viewer summary {timeline} --json"),
        ],
        keep: &[
            "step_ns",
            "accuracy",
            "peak/live_bytes",
            "peak/by_category",
            "peak/by_category_and_op",
            "rss/peak_bytes",
        ],
    };
    // The two take turns, and the one that goes first changes.
    let turn = |seed: u64| {
        let [first, second] = PRECISIONS;
        if seed.is_multiple_of(2) { [(seed, second), (seed, first)] } else { [(seed, first), (seed, second)] }
    };
    (1..=RUNS).flat_map(turn).map(of).collect()
}

/// The runs of one precision, one value for each.
struct Precision<'a> {
    name: &'a str,
    /// Seconds of all steps together.
    seconds: Vec<f64>,
    accuracies: Vec<f64>,
    peaks: Vec<f64>,
    resident: Vec<f64>,
    /// The first run.
    first: &'a Value,
}

impl<'a> Precision<'a> {
    fn of(results: &'a Results, name: &'a str) -> Result<Precision<'a>> {
        let runs: Vec<&Value> = results.beginning(&format!("{name}-")).into_iter().map(|(_, run)| run).collect();
        let first = runs.first().with_context(|| format!("no run in {name} ended"))?;
        let seconds = |run: &&Value| {
            let steps = list(run, "/step_ns")?.iter().filter_map(Value::as_f64).sum::<f64>();
            Ok(steps / 1e9)
        };
        Ok(Precision {
            name,
            seconds: runs.iter().map(seconds).collect::<Result<_>>()?,
            accuracies: runs.iter().map(|run| last_accuracy(run)).collect::<Result<_>>()?,
            peaks: runs.iter().map(|run| number(run, "/peak/live_bytes")).collect::<Result<_>>()?,
            resident: runs.iter().filter_map(|run| number(run, "/rss/peak_bytes").ok()).collect(),
            first,
        })
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |what: &str, values: &[f64], text: &dyn Fn(f64) -> String| {
            let Some(Summary { min, q1, median, q3, p90, max, mean, sd, .. }) = Summary::of(values) else {
                return vec![self.name.to_owned(), what.to_owned()];
            };
            let numbers = [min, q1, median, q3, p90, max, mean].map(text);
            let sd = sd.map_or("-".to_owned(), text);
            [vec![self.name.to_owned(), what.to_owned()], numbers.to_vec(), vec![sd]].concat()
        };
        vec![
            row("time, s", &self.seconds, &|seconds| format!("{seconds:.2}")),
            row("accuracy, %", &self.accuracies, &points),
            row("peak live bytes, MiB", &self.peaks, &|bytes| format!("{:.1}", bytes / MIB)),
            row("peak resident set, MiB", &self.resident, &|bytes| format!("{:.1}", bytes / MIB)),
        ]
    }
}

/// Whether the first values vary more than the others, if that can be told.
fn varies_more(first: &[f64], second: &[f64], because: &str) -> Holds {
    let variance = |values: &[f64]| Summary::of(values).and_then(|summary| summary.sd).map(|sd| sd * sd);
    match variance(first).zip(variance(second)) {
        Some((first, second)) if first > APART * second => Holds::Yes,
        Some((first, second)) if second > APART * first => Holds::No(because.to_owned()),
        _ => Holds::Unknown(format!("variances of {} runs that are not {APART} times apart do not tell", first.len())),
    }
}

fn finding(results: &Results) -> Result<Finding> {
    let [fp32, bf16] = [Precision::of(results, PRECISIONS[0])?, Precision::of(results, PRECISIONS[1])?];
    ensure!(fp32.seconds.len() == bf16.seconds.len(), "a run did not end");
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let gain = 100.0 * (1.0 - mean(&bf16.seconds) / mean(&fp32.seconds));
    let faster: Vec<bool> = fp32.seconds.iter().zip(&bf16.seconds).map(|(fp32, bf16)| bf16 < fp32).collect();
    let sd = |values: &[f64], text: &dyn Fn(f64) -> String| {
        Summary::of(values).and_then(|summary| summary.sd).map_or("-".to_owned(), text)
    };
    let seconds = |value: f64| format!("{value:.3} s");
    let claims = vec![
        claim(
            "mixed precision is faster",
            "6 % in the mean",
            format!("{gain:.1} % in the mean"),
            timed(
                results,
                Holds::in_every(
                    &faster,
                    "bf16 takes longer on this processor: copies of parameters and maps cost more than products in bf16 save",
                ),
            ),
        ),
        claim(
            "its times vary less",
            "less",
            format!(
                "standard deviation {} (bf16), {} (fp32)",
                sd(&bf16.seconds, &seconds),
                sd(&fp32.seconds, &seconds)
            ),
            timed(results, varies_more(&fp32.seconds, &bf16.seconds, "times in bf16 vary more here")),
        ),
        claim(
            "its accuracy varies far more",
            "66 % in the worst case, fp32 86 %",
            format!(
                "{} % (bf16), {} % (fp32)",
                least_to_most(&bf16.accuracies, points),
                least_to_most(&fp32.accuracies, points)
            ),
            varies_more(&bf16.accuracies, &fp32.accuracies, "accuracy in fp32 varies more here"),
        ),
    ];
    let both = |in_fp32: &[f64], in_bf16: &[f64]| {
        [(fp32.name.to_owned(), in_fp32.to_vec()), (bf16.name.to_owned(), in_bf16.to_vec())]
    };
    let memory = format!("{} (fp32), {} (bf16)", least_to_most(&fp32.peaks, mib), least_to_most(&bf16.peaks, mib));
    Ok(Finding {
        claims,
        number: format!("peak live bytes: {memory}"),
        figures: vec![
            boxes("time", &titles("Time of all steps, five runs each", "s", ""), &both(&fp32.seconds, &bf16.seconds))?,
            boxes("accuracy", &titles("Accuracy after the last step, five runs each", "%", ""), &both(&fp32.accuracies, &bf16.accuracies))?,
            by_category(&[&fp32, &bf16])?,
        ],
        tables: vec![table(
            "Five runs each",
            &["precision", "what", ">least", ">q1", ">median", ">q3", ">p90", ">most", ">mean", ">deviation"],
            [fp32.rows(), bf16.rows()].concat(),
        )],
        notes: vec![
            "ResNet-18 on 384 images of Fashion-MNIST, 128 more are held out; runs of one seed have the same weights and images, and take \
             turns. Mixed precision is libtorch's autocast to bf16 on a CPU; the document's is fp16 on a GPU, for five epochs of 8,500 images, which \
             here is `--device cuda:0 --precision fp16`. \
             Accuracies are of so few images and steps that they say how runs vary and nothing of what can be reached. The picture of \
             memory is of seed 1 at its peak; casts are the copies in another type that operators ask for ([PRECISION](../PRECISION.md))."
                .to_owned(),
        ],
    })
}

/// The operator that owns a cast.
const CAST: &str = "aten::_to_copy";

/// The peak by category, a row for each precision; casts stand apart from the others of their categories. The parameters of bf16 are
/// its master weights.
fn by_category(all: &[&Precision<'_>]) -> Result<Figure> {
    let casts = |one: &Precision<'_>, category: Category| {
        number(one.first, &format!("/peak/by_category_and_op/{}/{CAST}", category.name())).unwrap_or(0.0)
    };
    let part = |category: Category| {
        let bytes = |one: &Precision<'_>| {
            number(one.first, &format!("/peak/by_category/{}", category.name())).unwrap_or(0.0) - casts(one, category)
        };
        let name = match category {
            Category::Parameter => "parameter (in bf16: master weights)",
            _ => category.name(),
        };
        let values = all.iter().map(|one| bytes(one) / MIB).collect();
        Part { name: name.to_owned(), colour: of_category(category), values }
    };
    let mut parts: Vec<Part> = Category::ALL.into_iter().map(part).collect();
    let all_casts =
        |one: &&Precision<'_>| Category::ALL.into_iter().map(|category| casts(one, category)).sum::<f64>() / MIB;
    let behind = Category::ALL.iter().position(|&category| category == Category::Activation).map_or(0, |at| at + 1);
    let of_casts = Part { name: "cast".to_owned(), colour: COLOURS[0], values: all.iter().map(all_casts).collect() };
    // Results of before the viewer told operators by category have them among the activations.
    if all.iter().any(|one| one.first.pointer("/peak/by_category_and_op").is_some()) {
        parts.insert(behind, of_casts);
    }
    let names: Vec<String> = all.iter().map(|one| one.name.to_owned()).collect();
    let title = "The peak by category";
    let svg = chart::rows(&titles(title, "MiB", ""), &names, &parts, &[])?;
    Ok(Figure { name: "memory".to_owned(), title: title.to_owned(), svg })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{Outcome, example};
    use serde_json::json;

    fn run(ns: u64, accuracy: f64, peak: u64) -> Outcome {
        Outcome::Done(json!({
            "step_ns": [ns, ns], "accuracy": [0.1, accuracy], "rss": { "peak_bytes": 2 * peak },
            "peak": {
                "live_bytes": peak, "by_category": { "activation": peak }, "by_category_and_op": { "activation": { CAST: peak / 4 } },
            },
        }))
    }

    /// Runs of 2, 2.02 ... 2.08 s in fp32 and of 2.2 ... 2.28 s in bf16; accuracies of 80 to 84 % and of 40 to 80 %.
    #[test]
    fn five_runs_each() {
        let mut all = Vec::new();
        let names: Vec<(String, String)> =
            (1..=5).map(|seed| (format!("fp32-{seed}"), format!("bf16-{seed}"))).collect();
        for ((fp32, bf16), seed) in names.iter().zip(0_u64..) {
            let late = seed as f64;
            all.push((fp32.as_str(), run(1_000_000_000 + seed * 10_000_000, 0.80 + late / 100.0, 200 << 20)));
            all.push((bf16.as_str(), run(1_100_000_000 + seed * 10_000_000, 0.40 + late / 10.0, 190 << 20)));
        }
        let found = finding(&example(21, all)).expect("a finding");
        assert!(matches!(found.claims[0].holds, Holds::No(_)), "slower in each run: {:?}", found.claims[0]);
        assert_eq!(found.claims[0].measured, "-9.8 % in the mean", "1 - 2.24 / 2.04");
        assert!(matches!(found.claims[1].holds, Holds::Unknown(_)), "both vary alike");
        assert_eq!(found.claims[2].holds, Holds::Yes, "ten times the deviation is a hundred times the variance");
        assert_eq!(found.number, "peak live bytes: 200.0 MiB (fp32), 190.0 MiB (bf16)");
        assert_eq!((found.figures.len(), found.tables[0].rows.len()), (3, 8));
        let memory = &found.figures[2].svg;
        assert!(
            memory.contains("activation") && memory.contains("cast") && memory.contains("master weights"),
            "{memory}"
        );
    }

    #[test]
    fn the_precisions_take_turns() {
        let names: Vec<String> = measurements(Depth::Quick).into_iter().map(|one| one.name).collect();
        assert_eq!(names[..4], ["fp32-1", "bf16-1", "bf16-2", "fp32-2"]);
        assert_eq!(names.len(), 10);
    }
}
