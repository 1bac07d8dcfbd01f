//! Row 8: transfer learning in which each step changes a part of the layers.
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::parts::{FASHION, MNIST, SEEDS, SLICE};
use super::shared::{
    THREADS, boxes, cannot_be_told, claim, last_accuracy, least_to_most, nothing_measured, points, table, titles,
};
use crate::reproduce::results::{Depth, Results};
use crate::reproduce::spec::{FOLDER, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 8,
    title: "Transfer learning with a part of the layers in each step",
    seed: "000, Figure 12",
    published: "With ResNet-18 from ImageNet on MINC, training a part of the layers in each step drops accuracy significantly against training \
                the whole network.",
    work: Work { measurements, finding },
};

/// Names in our results, and what is typed. The first is the network as a whole.
const PARTS: [(&str, &str); 4] =
    [("all", "all"), ("layers-60", "layers:0.6"), ("layers-20", "layers:0.2"), ("last-1", "last:1")];

fn measurements(depth: Depth) -> Vec<Measurement> {
    let (before, after) = match depth {
        Depth::Quick => ("--steps 100", format!("--steps 60 --held-out 128 --data {SLICE}")),
        Depth::Full => ("--steps 500", format!("--steps 150 --held-out 1000 --data {FASHION}")),
    };
    let weights = format!("{FOLDER}/mnist.safetensors");
    let work = "--model lenet5 --image-size 32 --classes 10 --batch 64";
    let of = |(seed, (name, part)): (u64, &(&str, &str))| Measurement {
        name: format!("{name}-{seed}"),
        commands: vec![
            format!(
                "trainer train {work} {before} --seed {seed} --data {MNIST} {THREADS} --track off --save-weights {weights}"
            ),
            format!(
                "trainer train {work} {after} --seed {seed} {THREADS} --track off --weights {weights} --train-only {part} --json-times"
            ),
        ],
        keep: &["accuracy"],
    };
    (1..=SEEDS).flat_map(|seed| PARTS.iter().map(move |part| (seed, part))).map(of).collect()
}

fn finding(results: &Results) -> Result<Finding> {
    if let Some(reason) = nothing_measured(results) {
        let published = [("accuracy with a part of the layers", "significantly less")];
        return Ok(cannot_be_told(&published, &format!("{reason}; `cargo xtask data mnist` fetches the images")));
    }
    let accuracies = |name: &str| -> Result<Vec<f64>> {
        let runs: Vec<&Value> = results.beginning(&format!("{name}-")).into_iter().map(|(_, run)| run).collect();
        ensure!(runs.len() as u64 == SEEDS, "{name}: not all seeds were run");
        runs.iter().map(|run| last_accuracy(run)).collect()
    };
    let all = PARTS.iter().map(|(name, _)| Ok((*name, accuracies(name)?))).collect::<Result<Vec<_>>>()?;
    let ((_, whole), others) = all.split_first().context("the whole network was trained")?;
    let (mut claims, mut numbers) = (Vec::new(), Vec::new());
    for (name, part) in others.iter().filter(|(name, _)| name.starts_with("layers")) {
        let drops: Vec<f64> = whole.iter().zip(part).map(|(whole, part)| whole - part).collect();
        let less: Vec<bool> = drops.iter().map(|drop| *drop > 0.0).collect();
        let measured = format!("{} points less", least_to_most(&drops, points));
        numbers.push(format!("{name} {measured}"));
        claims.push(claim(
            format!("{name}: accuracy against training all"),
            "significantly less; taken here as less with each seed",
            measured,
            Holds::in_every(&less, format!("{name} is as good as all here")),
        ));
    }
    let drawn: Vec<_> = all.iter().map(|(name, values)| ((*name).to_owned(), values.clone())).collect();
    let rows = all.iter().map(|(name, values)| vec![(*name).to_owned(), least_to_most(values, points)]);
    let title = "From MNIST to Fashion-MNIST: accuracy by what is trained";
    Ok(Finding {
        claims,
        number: numbers.join(", "),
        figures: vec![boxes("accuracy", &titles(title, "%", ""), &drawn)?],
        tables: vec![table("LeNet-5 on Fashion-MNIST, with the weights of MNIST", &["trained", ">accuracy, %"], rows.collect())],
        notes: vec![
            "Neither ImageNet nor MINC is in a package registry: LeNet-5 learns MNIST first, and then Fashion-MNIST. A quick run fine-tunes on \
             384 images and holds 128 out. Ranges are from the least to the most of three seeds; `last-1` trains the last layer alone, as \
             is usual."
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{Outcome, example};
    use serde_json::json;

    /// 10 points less with each seed, and once more and twice less.
    #[test]
    fn a_drop_has_to_be_there_with_each_seed() {
        let accuracy = |name: &str, seed: u64| match (name, seed) {
            ("all", _) => 0.70,
            ("layers-20", _) => 0.60,
            ("layers-60", 1) => 0.72,
            _ => 0.69,
        };
        let named: Vec<(String, Outcome)> = (1..=SEEDS)
            .flat_map(|seed| {
                PARTS.map(|(name, _)| (format!("{name}-{seed}"), json!({ "accuracy": [accuracy(name, seed)] })))
            })
            .map(|(name, value)| (name, Outcome::Done(value)))
            .collect();
        let results = example(8, named.iter().map(|(name, outcome)| (name.as_str(), outcome.clone())).collect());
        let found = finding(&results).expect("a finding");
        assert_eq!(found.claims[0].holds, Holds::Unknown("2 of 3 runs meet it".to_owned()));
        assert_eq!((found.claims[1].measured.as_str(), &found.claims[1].holds), ("10.0 points less", &Holds::Yes));
    }
}
