//! Rows 6 and 7: training of a random part of the filters or layers.
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::shared::{
    MIB, THREADS, boxes, cannot_be_told, claim, last_accuracy, least_to_most, median_step, mib, ms, nothing_measured,
    percent, points, table, timed, titles,
};
use crate::reproduce::results::{Depth, Results, number};
use crate::reproduce::spec::{Claim, FOLDER, Finding, Holds, Measurement, Row, Work};

pub(super) const LENET: Row = Row {
    number: 6,
    title: "A random part of the filters or layers is trained: LeNet on MNIST",
    seed: "000, Figure 10",
    published: "Training 60 % of the network costs 2 to 3 % of accuracy and saves more than 50 % of the time at batch 64, but only \
                14 % of the memory.",
    work: Work { measurements: of_lenet, finding: lenet },
};

pub(super) const RESNET: Row = Row {
    number: 7,
    title: "The same with ResNet-18 on CIFAR-10",
    seed: "000, Figure 11",
    published: "Training 20 or 40 % of the layers costs 10 to 15 % of accuracy.",
    work: Work { measurements: of_resnet, finding: resnet },
};

/// Where `cargo xtask data` puts the sets.
pub(super) const MNIST: &str = "target/data/mnist";
pub(super) const FASHION: &str = "target/data/fashion-mnist";
/// The slice of Fashion-MNIST that is part of the repository: 512 images to learn from.
pub(super) const SLICE: &str = "fixtures/fashion-mnist";
/// Runs of each part, with seeds of their own: they draw weights, images and what is trained.
pub(super) const SEEDS: u64 = 3;
/// What is trained: names in our results, and what is typed. The first is the network as a whole.
const OF_LENET: [(&str, &str); 3] = [("all", "all"), ("layers-60", "layers:0.6"), ("filters-60", "filters:0.6")];
const OF_RESNET: [(&str, &str); 3] = [("all", "all"), ("layers-40", "layers:0.4"), ("layers-20", "layers:0.2")];
/// The document's numbers for 60 % of LeNet: points of accuracy at most, the part of a step, the memory that is saved.
const COSTS: f64 = 3.0;
const TIME: f64 = 0.5;
const MEMORY: [f64; 2] = [0.135, 0.145];
/// And for ResNet-18: points of accuracy at least.
const DROP: f64 = 10.0;

/// A run of each part with each seed; the parts take turns.
fn measurements(parts: &[(&str, &str)], run: &str) -> Vec<Measurement> {
    let timeline = format!("{FOLDER}/run.timeline.json");
    let of = |(seed, (name, part)): (u64, &(&str, &str))| Measurement {
        name: format!("{name}-{seed}"),
        commands: vec![
            format!("trainer train {run} --train-only {part} --seed {seed} {THREADS} --json-times --out {timeline}"),
            format!("viewer summary {timeline} --json"),
        ],
        keep: &["step_ns", "accuracy", "peak/live_bytes", "peak/by_category"],
    };
    (1..=SEEDS).flat_map(|seed| parts.iter().map(move |part| (seed, part))).map(of).collect()
}

fn of_lenet(depth: Depth) -> Vec<Measurement> {
    let steps = if depth == Depth::Quick { 150 } else { 1000 };
    let work = "--model lenet5 --image-size 32 --classes 10 --batch 64 --held-out 1000";
    measurements(&OF_LENET, &format!("{work} --steps {steps} --data {MNIST}"))
}

fn of_resnet(depth: Depth) -> Vec<Measurement> {
    let work = "--model resnet18 --image-size 32 --classes 10 --batch 16";
    measurements(
        &OF_RESNET,
        &match depth {
            Depth::Quick => format!("{work} --held-out 128 --steps 60 --data {SLICE}"),
            Depth::Full => format!("{work} --held-out 1000 --steps 2000 --data {FASHION}"),
        },
    )
}

/// The runs of one part, a value for each seed.
struct Part {
    name: &'static str,
    accuracies: Vec<f64>,
    /// Median steps in nanoseconds.
    steps: Vec<f64>,
    peaks: Vec<f64>,
    /// What the network has at the peak: parameters, gradients, state, maps, workspace.
    tensors: Vec<f64>,
}

impl Part {
    fn of(results: &Results, name: &'static str) -> Result<Part> {
        let runs: Vec<&Value> = results.beginning(&format!("{name}-")).into_iter().map(|(_, run)| run).collect();
        ensure!(runs.len() as u64 == SEEDS, "{name}: not all seeds were run");
        let tensors = |run: &&Value| {
            let names = ["parameter", "gradient", "optimizer_state", "activation", "workspace"];
            let bytes = names.iter().map(|name| number(run, &format!("/peak/by_category/{name}")).unwrap_or(0.0));
            bytes.sum::<f64>()
        };
        Ok(Part {
            name,
            accuracies: runs.iter().map(|run| last_accuracy(run)).collect::<Result<_>>()?,
            steps: runs.iter().map(|run| median_step(run)).collect::<Result<_>>()?,
            peaks: runs.iter().map(|run| number(run, "/peak/live_bytes")).collect::<Result<_>>()?,
            tensors: runs.iter().map(tensors).collect(),
        })
    }

    fn all(results: &Results, parts: &[(&'static str, &str)]) -> Result<Vec<Part>> {
        parts.iter().map(|(name, _)| Part::of(results, name)).collect()
    }

    /// Points of accuracy that are lost against training the whole network, seed by seed.
    fn drops(&self, whole: &Part) -> Vec<f64> {
        whole.accuracies.iter().zip(&self.accuracies).map(|(whole, part)| whole - part).collect()
    }

    fn row(&self) -> Vec<String> {
        let in_mib = |bytes: f64| format!("{:.2}", bytes / MIB);
        vec![
            self.name.to_owned(),
            least_to_most(&self.accuracies, points),
            least_to_most(&self.steps, ms),
            least_to_most(&self.peaks, in_mib),
            least_to_most(&self.tensors, in_mib),
        ]
    }
}

const HEADS: [&str; 5] = ["trained", ">accuracy, %", ">a step", ">peak live bytes, MiB", ">of that the network, MiB"];

fn accuracy_of(part: &Part, whole: &Part, published: &str, meets: impl Fn(f64) -> bool, because: String) -> Claim {
    let drops = part.drops(whole);
    let meets: Vec<bool> = drops.iter().map(|drop| meets(*drop)).collect();
    let measured = format!("{} points less than all", least_to_most(&drops, points));
    claim(format!("{}: accuracy", part.name), published, measured, Holds::in_every(&meets, because))
}

fn lenet(results: &Results) -> Result<Finding> {
    if let Some(reason) = nothing_measured(results) {
        let published =
            [("accuracy with 60 %", "2 to 3 points less"), ("time", "more than 50 % less"), ("memory", "14 % less")];
        return Ok(cannot_be_told(&published, &format!("{reason}; `cargo xtask data mnist` fetches the images")));
    }
    let parts = Part::all(results, &OF_LENET)?;
    let (whole, others) = parts.split_first().context("the whole network was trained")?;
    let (mut claims, mut saved) = (Vec::new(), Vec::new());
    for part in others {
        let name = part.name;
        claims.push(accuracy_of(
            part,
            whole,
            "2 to 3 points less, so at most 3",
            |drop| drop <= COSTS,
            format!("{name} costs more than 3 points after so few steps"),
        ));
        let ratios: Vec<f64> = part.steps.iter().zip(&whole.steps).map(|(part, whole)| part / whole).collect();
        let half: Vec<bool> = ratios.iter().map(|ratio| *ratio < TIME).collect();
        claims.push(claim(
            format!("{name}: time of a step at batch 64"),
            "more than 50 % less",
            format!("{} of that of all", least_to_most(&ratios, percent)),
            timed(
                results,
                Holds::in_every(
                    &half,
                    "the forward pass is the same, the backward pass goes down to the first layer that learns, and a filter's gradient \
                     is computed with that of its layer",
                ),
            ),
        ));
        let less: Vec<f64> = part.peaks.iter().zip(&whole.peaks).map(|(part, whole)| 1.0 - part / whole).collect();
        let near: Vec<bool> = less.iter().map(|less| (MEMORY[0]..MEMORY[1]).contains(less)).collect();
        claims.push(claim(
            format!("{name}: memory"),
            "14 % less",
            format!("{} less", least_to_most(&less, percent)),
            Holds::in_every(
                &near,
                "the network is a small part of the process, and its maps are saved down to the first layer that learns",
            ),
        ));
        saved.push(format!("{} ({name})", least_to_most(&less, percent)));
    }
    let drawn: Vec<_> = parts.iter().map(|part| (part.name.to_owned(), part.accuracies.clone())).collect();
    Ok(Finding {
        claims,
        number: format!("60 % of LeNet save of the memory {}", saved.join(", ")),
        figures: vec![boxes("accuracy", &titles("LeNet-5 on MNIST: accuracy by what is trained", "%", ""), &drawn)?],
        tables: vec![table("By what is trained", &HEADS, parts.iter().map(Part::row).collect())],
        notes: vec![
            "Ranges are from the least to the most of three seeds; accuracy is of 1,000 images that were held out. The peak is of all live \
             bytes of the process, the images of MNIST (47 MB) and libtorch's own among them. `layers` draws layers anew for each step, \
             `filters` a part of the filters of each ([VARIATIONS](../VARIATIONS.md))."
                .to_owned(),
        ],
    })
}

fn resnet(results: &Results) -> Result<Finding> {
    if let Some(reason) = nothing_measured(results) {
        let published = [("accuracy with 20 or 40 % of the layers", "10 to 15 points less")];
        return Ok(cannot_be_told(
            &published,
            &format!("{reason}; `cargo xtask data fashion-mnist` fetches the images"),
        ));
    }
    let parts = Part::all(results, &OF_RESNET)?;
    let (whole, others) = parts.split_first().context("the whole network was trained")?;
    let of = |part: &Part| {
        let because = format!("{} cost less than 10 points here", part.name);
        accuracy_of(part, whole, "10 to 15 points less, so at least 10", |drop| drop >= DROP, because)
    };
    let claims: Vec<Claim> = others.iter().map(of).collect();
    let numbers = claims.iter().map(|claim| format!("{} {}", claim.what, claim.measured));
    let peaks = parts.iter().map(|part| format!("{} ({})", least_to_most(&part.peaks, mib), part.name));
    let drawn: Vec<_> = parts.iter().map(|part| (part.name.to_owned(), part.accuracies.clone())).collect();
    let title = "ResNet-18 on Fashion-MNIST: accuracy by what is trained";
    Ok(Finding {
        number: numbers.collect::<Vec<_>>().join("; "),
        claims,
        figures: vec![boxes("accuracy", &titles(title, "%", ""), &drawn)?],
        tables: vec![table("By what is trained", &HEADS, parts.iter().map(Part::row).collect())],
        notes: vec![format!(
            "No colour data set with many images is in a package registry, so the images are Fashion-MNIST's in 32 x 32, repeated into three \
             channels; a quick run has 384 to learn from and 128 held out, a full run 59,000 and 1,000. Ranges are from the least to the \
             most of three seeds. The document has no number of memory here: {}.",
            peaks.collect::<Vec<_>>().join(", ")
        )],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{Outcome, example};
    use crate::reproduce::spec::Verdict;
    use serde_json::json;

    fn run(accuracy: f64, ns: u64, peak: u64) -> Outcome {
        Outcome::Done(json!({
            "step_ns": [9, 9, 9, ns], "accuracy": [0.1, accuracy],
            "peak": { "live_bytes": peak, "by_category": { "parameter": 1 << 20, "other": 5 } },
        }))
    }

    fn results(row: u8, parts: [(&str, f64, u64, u64); 3]) -> Results {
        let named: Vec<(String, Outcome)> = (1..=SEEDS)
            .flat_map(|seed| {
                parts.map(|(name, accuracy, ns, peak)| (format!("{name}-{seed}"), run(accuracy, ns, peak)))
            })
            .collect();
        example(row, named.iter().map(|(name, outcome)| (name.as_str(), outcome.clone())).collect())
    }

    /// 2 and 5 points less, 40 and 90 % of the time, 14 and 0 % of the memory.
    #[test]
    fn what_sixty_percent_save() {
        let all = [("all", 0.95, 1000, 100), ("layers-60", 0.93, 400, 86), ("filters-60", 0.90, 900, 100)];
        let found = lenet(&results(6, all)).expect("a finding");
        let holds: Vec<bool> = found.claims.iter().map(|claim| claim.holds == Holds::Yes).collect();
        assert_eq!(holds, [true, true, true, false, false, false], "{:?}", found.claims);
        assert_eq!(found.claims[0].measured, "2.0 points less than all");
        assert_eq!(found.claims[4].measured, "90.0 % of that of all");
    }

    #[test]
    fn a_part_of_resnet_18() {
        let all = [("all", 0.80, 9, 9), ("layers-40", 0.70, 9, 9), ("layers-20", 0.71, 9, 9)];
        let found = resnet(&results(7, all)).expect("a finding");
        let Verdict::Differs(because) = Verdict::of(&found.claims) else { panic!("9 points are less than 10") };
        assert_eq!(because, "layers-20 cost less than 10 points here");
    }

    #[test]
    fn without_images_nothing_is_claimed() {
        let none = example(6, vec![("all-1", Outcome::Failed("exit status: 2; error: no images".to_owned()))]);
        let verdict = Verdict::of(&lenet(&none).expect("a finding").claims);
        assert_eq!(verdict.because(), "no images; `cargo xtask data mnist` fetches the images");
    }
}
