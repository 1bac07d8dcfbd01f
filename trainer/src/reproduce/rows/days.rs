//! Row 16: a network that was trained before learns from 64 images a day.
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::parts::{MNIST, SEEDS};
use super::shared::{
    THREADS, accuracies, cannot_be_told, claim, least_to_most, line_of_runs, lines, nothing_measured, points, table,
    titles,
};
use crate::chart::Scale;
use crate::reproduce::results::{Depth, Results};
use crate::reproduce::spec::{FOLDER, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 16,
    title: "Fine-tuning on the device, 64 images a day",
    seed: "001, Observation 12, Figure 10",
    published: "The accuracy of DenseNet40, which a server trained before, rises from 60.65 to 61.32 % in 17 days with 64 images each, with \
                three batch sizes.",
    work: Work { measurements, finding },
};

const BATCHES: [u64; 3] = [4, 16, 64];
const IMAGES_A_DAY: u64 = 64;
const DAYS: usize = 17;

fn measurements(depth: Depth) -> Vec<Measurement> {
    // After 72 steps it tells about as much right as the document's.
    let before =
        if depth == Depth::Quick { "--steps 72 --images-a-day 2000" } else { "--steps 72 --images-a-day 4000" };
    let skipped = if depth == Depth::Quick { 2000 } else { 4000 };
    let weights = format!("{FOLDER}/day0.safetensors");
    let work =
        format!("--model lenet5 --image-size 32 --classes 10 --held-out 1000 --data {MNIST} {THREADS} --track off");
    let of = |(seed, batch): (u64, u64)| Measurement {
        name: format!("batch-{batch}-{seed}"),
        commands: vec![
            format!("trainer train {work} --batch 64 {before} --days 1 --seed {seed} --save-weights {weights}"),
            format!(
                "trainer train {work} --batch {batch} --steps {} --lr 0.001 --skip-images {skipped} --days {DAYS} --images-a-day {IMAGES_A_DAY} \
                 --seed {seed} --weights {weights} --json-times",
                IMAGES_A_DAY / batch
            ),
        ],
        keep: &["accuracy"],
    };
    (1..=SEEDS).flat_map(|seed| BATCHES.map(|batch| (seed, batch))).map(of).collect()
}

/// The accuracies of one batch: for each seed, before the first day and after each.
fn of_batch(results: &Results, batch: u64) -> Result<Vec<Vec<f64>>> {
    let runs: Vec<&Value> = results.beginning(&format!("batch-{batch}-")).into_iter().map(|(_, run)| run).collect();
    ensure!(runs.len() as u64 == SEEDS, "batch {batch}: not all seeds were run");
    let all = runs.iter().map(|run| accuracies(run)).collect::<Result<Vec<_>>>()?;
    ensure!(all.iter().all(|days| days.len() == 1 + DAYS), "batch {batch}: a run has another number of days");
    Ok(all)
}

fn finding(results: &Results) -> Result<Finding> {
    if let Some(reason) = nothing_measured(results) {
        let published = [("accuracy after 17 days", "60.65 to 61.32 %")];
        return Ok(cannot_be_told(&published, &format!("{reason}; `cargo xtask data mnist` fetches the images")));
    }
    let (mut claims, mut rows, mut drawn, mut numbers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for batch in BATCHES {
        let seeds = of_batch(results, batch)?;
        let ends = seeds.iter().map(|days| Some((*days.first()?, *days.last()?))).collect::<Option<Vec<_>>>();
        let ends = ends.context("a run has no accuracy")?;
        let gains: Vec<f64> = ends.iter().map(|(first, last)| last - first).collect();
        let rises: Vec<bool> = gains.iter().map(|gain| *gain > 0.0).collect();
        let gained = format!("{} points", least_to_most(&gains, |gain| format!("{gain:+.1}")));
        claims.push(claim(
            format!("batches of {batch}: accuracy after {DAYS} days"),
            "rises slowly: by 0.67 points",
            gained.clone(),
            Holds::in_every(&rises, format!("it does not rise with batches of {batch} here")),
        ));
        let all = |of: fn(&(f64, f64)) -> f64| least_to_most(&ends.iter().map(of).collect::<Vec<_>>(), points);
        rows.push(vec![batch.to_string(), all(|ends| ends.0), all(|ends| ends.1), gained.clone()]);
        numbers.push(format!("{gained} (batch {batch})"));
        let by_day: Vec<Vec<f64>> = (0..=DAYS).map(|day| seeds.iter().map(|days| days[day]).collect()).collect();
        drawn.push(line_of_runs(format!("batch {batch}"), &by_day));
    }
    let days: Vec<String> = (0..=DAYS).map(|day| day.to_string()).collect();
    let title = "Accuracy with 64 new images a day";
    Ok(Finding {
        claims,
        number: numbers.join(", "),
        figures: vec![lines("days", &titles(title, "days", "% of the held-out images"), Scale::Linear, &days, &drawn)?],
        tables: vec![table("By batch", &["batch", ">before, %", ">after 17 days, %", ">gain"], rows)],
        notes: vec![
            "LeNet-5 on MNIST, with a learning rate of 0.001 after the day before the first; the document's network is DenseNet40, and it \
             does not say what it learned from. A day makes as many steps as its 64 images fill batches. Accuracy is of 1,000 images that were \
             held out; ranges are from the least to the most of three seeds, as are the bars of the picture."
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{Outcome, example};
    use serde_json::json;

    #[test]
    fn a_gain_has_to_be_there_with_each_seed() {
        let run = |batch: u64, seed: u64| {
            let gain = if batch == 4 && seed == 2 { -0.02 } else { 0.01 };
            let days: Vec<f64> = (0..=DAYS).map(|day| if day == DAYS { 0.60 + gain } else { 0.60 }).collect();
            Outcome::Done(json!({ "accuracy": days }))
        };
        let named: Vec<(String, Outcome)> = (1..=SEEDS)
            .flat_map(|seed| BATCHES.map(|batch| (format!("batch-{batch}-{seed}"), run(batch, seed))))
            .collect();
        let results = example(16, named.iter().map(|(name, outcome)| (name.as_str(), outcome.clone())).collect());
        let found = finding(&results).expect("a finding");
        assert_eq!(found.claims[0].holds, Holds::Unknown("2 of 3 runs meet it".to_owned()));
        assert_eq!(found.claims[1].holds, Holds::Yes);
        assert_eq!(found.number, "-2.0 to +1.0 points (batch 4), +1.0 points (batch 16), +1.0 points (batch 64)");
    }

    #[test]
    fn a_day_sees_each_of_its_images_once() {
        for one in measurements(Depth::Full) {
            assert!(["--steps 16 ", "--steps 4 ", "--steps 1 "].iter().any(|steps| one.commands[1].contains(steps)));
        }
    }
}
