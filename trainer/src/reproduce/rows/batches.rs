//! Rows 5 and 15: the time for a sample, and samples in a second, against the batch.
use anyhow::{Context, Result, ensure};

use super::shared::{THREADS, all_timed, claim, least_to_most, line_of_runs, lines, median_step, table, titles};
use crate::chart::Scale;
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{Claim, FOLDER, Finding, Holds, Measurement, Row, Work};

pub(super) const TIME_FOR_AN_IMAGE: Row = Row {
    number: 5,
    title: "Time for an image against the batch",
    seed: "000, Figures 8 and 9",
    published: "On a CPU a larger batch does not make an image significantly faster; on a Jetson's GPU it does.",
    work: Work { measurements: of_images, finding: time_for_an_image },
};

pub(super) const THROUGHPUT: Row = Row {
    number: 15,
    title: "Throughput against the batch",
    seed: "001, Observations 10 and 11, Figure 8",
    published: "From batch 4 to 64 on a TX2, ResNet50 goes from 9 to 55 samples a second (6.1 times), a deep reinforcement learner \
                from 889 to 13,618 (15.3 times), DenseNet 1.7 times. Throughput rises with the batch for all models.",
    work: Work { measurements: of_throughput, finding: throughput },
};

/// Row 15: our name, the document's, and how many times the throughput is from batch 4 to 64 there.
const PUBLISHED: [(&str, &str, f64); 3] =
    [("dqn", "deep RL", 15.3), ("resnet50", "ResNet50", 6.1), ("densenet40_12", "DenseNet", 1.7)];
/// The document's batches in row 15.
const ENDS: [u64; 2] = [4, 64];
/// The published factors have one digit behind the point.
const ROUNDING: f64 = 0.05;
/// What row 5 takes for significantly faster, as the document has no number.
const SIGNIFICANT: f64 = 0.5;

fn of_images(depth: Depth) -> Vec<Measurement> {
    let work = match depth {
        Depth::Quick => "--batch 1,4,16 --image-size 64 --steps 8",
        Depth::Full => "--batch 1,2,4,8,16,32 --image-size 224 --steps 10",
    };
    let models = "--models mobilenet_v1,resnet18 --modes train,infer";
    vec![Measurement::json("sweep", format!("trainer sweep {models} {work} {THREADS} --out {FOLDER} --json"))]
}

fn of_throughput(depth: Depth) -> Vec<Measurement> {
    let work = match depth {
        Depth::Quick => "--batch 4,16,64 --image-size small --steps 5",
        Depth::Full => "--batch 4,8,16,32,64 --image-size small --steps 10",
    };
    let models = PUBLISHED.map(|(model, ..)| model).join(",");
    let command = format!("trainer sweep --models {models} {work} {THREADS} --out {FOLDER} --json");
    vec![Measurement::json("sweep", command)]
}

/// The median steps of one network in one mode.
struct Network {
    model: String,
    mode: String,
    batches: Vec<u64>,
    /// In nanoseconds: for each batch, one for each run.
    steps: Vec<Vec<f64>>,
}

impl Network {
    /// All that a sweep ran, in its order. What did not run to its end is left out.
    fn all(results: &Results) -> Result<Vec<Network>> {
        let mut all: Vec<Network> = Vec::new();
        for run in list(results.of("sweep")?, "/runs")? {
            let Some(measured) = run.get("measured").filter(|measured| measured.is_object()) else { continue };
            let (model, mode) = (text(run, "/point/model")?, text(run, "/point/mode")?);
            let (batch, step) = (number(run, "/point/batch")? as u64, median_step(measured)?);
            if !all.iter().any(|one| one.model == model && one.mode == mode) {
                let (model, mode) = (model.to_owned(), mode.to_owned());
                all.push(Network { model, mode, batches: Vec::new(), steps: Vec::new() });
            }
            let network = all.iter_mut().find(|one| one.model == model && one.mode == mode);
            let network = network.context("it was added where it was not there")?;
            match network.batches.iter().position(|one| *one == batch) {
                Some(place) => network.steps[place].push(step),
                None => {
                    network.batches.push(batch);
                    network.steps.push(vec![step]);
                }
            }
        }
        ensure!(!all.is_empty(), "no run of the sweep gave numbers");
        Ok(all)
    }

    /// What each run of a batch took for one sample.
    fn for_a_sample(&self, batch: u64) -> Result<Vec<f64>> {
        let place = self.batches.iter().position(|one| *one == batch);
        let place = place.with_context(|| format!("{} did not run with batch {batch}", self.model))?;
        Ok(self.steps[place].iter().map(|step| step / batch as f64).collect())
    }

    /// The time for a sample with one batch in times of that with another, run by run.
    fn ratios(&self, batch: u64, base: u64) -> Result<Vec<f64>> {
        let (other, base) = (self.for_a_sample(batch)?, self.for_a_sample(base)?);
        ensure!(other.len() == base.len(), "{}: a run did not end", self.model);
        Ok(other.iter().zip(base).map(|(other, base)| other / base).collect())
    }

    fn name(&self) -> String {
        format!("{}, {}", self.model, self.mode)
    }

    /// A value of each batch: in each run, `of` the time for a sample.
    fn values(&self, of: impl Fn(f64) -> f64) -> Result<Vec<Vec<f64>>> {
        let one = |batch: &u64| Ok(self.for_a_sample(*batch)?.into_iter().map(&of).collect());
        self.batches.iter().map(one).collect()
    }

    fn rows(&self) -> Result<Vec<Vec<String>>> {
        let row = |&batch: &u64| {
            let times = self.for_a_sample(batch)?;
            let speeds: Vec<f64> = times.iter().map(|ns| 1e9 / ns).collect();
            let names = [self.model.clone(), self.mode.clone(), batch.to_string(), times.len().to_string()];
            let numbers = [
                least_to_most(&times, |ns| format!("{:.2} ms", ns / 1e6)),
                least_to_most(&speeds, |speed| format!("{speed:.1}")),
            ];
            Ok(names.into_iter().chain(numbers).collect())
        };
        self.batches.iter().map(row).collect()
    }
}

const HEADS: [&str; 6] = ["model", "mode", ">batch", ">runs", ">time for a sample", ">samples a second"];
const NOTE: &str = "Each run is a process of its own; runs of all batches take turns. Of each run the median step counts, without the first \
                    three; ranges are from the least to the most of the runs. The pictures have the median of the runs with a bar from \
                    the least to the most.";

fn names(networks: &[Network]) -> Vec<String> {
    networks[0].batches.iter().map(u64::to_string).collect()
}

fn time_for_an_image(results: &Results) -> Result<Finding> {
    let networks = Network::all(results)?;
    let (mut claims, mut drawn, mut rows, mut numbers): (Vec<Claim>, Vec<_>, Vec<_>, Vec<f64>) = Default::default();
    for network in &networks {
        let (first, last) = ends(network)?;
        let ratios = network.ratios(last, first)?;
        let slow: Vec<bool> = ratios.iter().map(|ratio| *ratio > SIGNIFICANT).collect();
        claims.push(claim(
            format!("{}: an image in a batch of {last}, in times of one in a batch of {first}", network.name()),
            "not significantly faster; taken here as more than 0.5",
            least_to_most(&ratios, |ratio| format!("{ratio:.2}")),
            Holds::in_every(&slow, format!("an image takes half the time in the larger batch ({})", network.name())),
        ));
        numbers.extend(ratios);
        drawn.push(line_of_runs(network.name(), &network.values(|ns| ns / 1e6)?));
        rows.extend(network.rows()?);
    }
    claims.push(claim(
        "the same on a Jetson's GPU",
        "a larger batch is faster",
        "-",
        Holds::Unknown("the networks ran on processors; a sweep does not run on a GPU".to_owned()),
    ));
    let title = "Time for an image against the batch";
    Ok(Finding {
        claims: all_timed(results, claims),
        number: format!(
            "an image in the largest batch takes {} of one alone",
            least_to_most(&numbers, |ratio| format!("{ratio:.2}"))
        ),
        figures: vec![lines("time", &titles(title, "batch", "ms"), Scale::Linear, &names(&networks), &drawn)?],
        tables: vec![table("By network and batch", &HEADS, rows)],
        notes: vec![NOTE.to_owned()],
    })
}

/// The smallest and the largest batch.
fn ends(network: &Network) -> Result<(u64, u64)> {
    let ends = network.batches.iter().min().zip(network.batches.iter().max());
    ends.map(|(first, last)| (*first, *last)).context("a network ran with no batch")
}

fn throughput(results: &Results) -> Result<Finding> {
    let networks = Network::all(results)?;
    let [small, large] = ENDS;
    let (mut claims, mut rows, mut drawn, mut numbers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut by_model: Vec<Vec<f64>> = Vec::new();
    for (model, name, published) in PUBLISHED {
        let network = networks.iter().find(|network| network.model == model);
        let network = network.with_context(|| format!("{model} gave no numbers"))?;
        let times: Vec<f64> = network.ratios(small, large)?;
        let measured = least_to_most(&times, |times| format!("{times:.2}"));
        let rises: Vec<bool> = times.iter().map(|times| *times > 1.0).collect();
        let near: Vec<bool> = times.iter().map(|times| (times - published).abs() <= ROUNDING).collect();
        claims.push(claim(
            format!("{name}: throughput rises from batch {small} to {large}"),
            "it does",
            format!("{measured} times"),
            Holds::in_every(&rises, format!("{name} is no faster in a batch of {large} here")),
        ));
        claims.push(claim(
            format!("{name}: by how much"),
            format!("{published} times"),
            format!("{measured} times"),
            Holds::in_every(
                &near,
                "a TX2 computes on a GPU, which small batches leave idle; here one processor computes image after image",
            ),
        ));
        numbers.push(format!("{name} {measured}"));
        rows.extend(network.rows()?);
        drawn.push(line_of_runs(model, &network.values(|ns| 1e9 / ns)?));
        by_model.push(times);
    }
    let runs = by_model.iter().map(Vec::len).min().unwrap_or(0);
    let ordered: Vec<bool> = (0..runs).map(|run| by_model.windows(2).all(|pair| pair[0][run] > pair[1][run])).collect();
    claims.push(claim(
        "who gains most",
        PUBLISHED.map(|(_, name, _)| name).join(", "),
        format!("this order in {} of {runs} runs", ordered.iter().filter(|same| **same).count()),
        Holds::in_every(&ordered, "the order is another here"),
    ));
    let title = "Training: samples a second against the batch";
    Ok(Finding {
        claims: all_timed(results, claims),
        number: format!("batch {large} in times of batch {small}: {}", numbers.join(", ")),
        figures: vec![lines("throughput", &titles(title, "batch", "samples a second"), Scale::Fitting, &names(&networks), &drawn)?],
        tables: vec![table("By network and batch", &HEADS, rows)],
        notes: vec![
            NOTE.to_owned(),
            "ResNet-50 reads 64 x 64 pixels, DenseNet 32 x 32 as the document's CIFAR-10; the deep reinforcement learner is DQN on a \
             game of 84 x 84 pixels in place of Atari's."
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{Outcome, example};
    use serde_json::{Value, json};

    /// A run whose steps behind the warm-up take `ns`.
    fn run(model: &str, batch: u64, ns: u64) -> Value {
        json!({
            "point": { "model": model, "mode": "train", "batch": batch }, "outcome": "done",
            "measured": { "step_ns": [900, 900, 900, ns] },
        })
    }

    fn results(row: u8, runs: Vec<Value>) -> Results {
        example(row, vec![("sweep", Outcome::Done(json!({ "runs": runs })))])
    }

    /// One image takes 10 ns alone and 8 ns in a batch of 4: 0.8 times, which is not half.
    #[test]
    fn an_image_in_a_larger_batch() {
        let mut runs: Vec<Value> = [1, 2].iter().flat_map(|_| [run("a", 1, 10), run("a", 4, 32)]).collect();
        runs.push(json!({ "point": { "model": "b" }, "outcome": "failed", "measured": null }));
        let found = time_for_an_image(&results(5, runs)).expect("a finding");
        assert_eq!((found.claims[0].measured.as_str(), &found.claims[0].holds), ("0.80", &Holds::Yes));
        assert!(matches!(found.claims[1].holds, Holds::Unknown(_)), "there is no GPU");
        assert_eq!(found.tables[0].rows[1][4..], ["0.00 ms", "125000000.0"]);
    }

    /// From batch 4 to 64 the step of each takes 4, 8 and 16 times as long: 4, 2 and 1 times the throughput.
    #[test]
    fn throughput_against_what_was_published() {
        let runs = [("dqn", 400), ("resnet50", 800), ("densenet40_12", 1600)];
        let runs = runs.iter().flat_map(|(model, ns)| [run(model, 4, 100), run(model, 64, *ns)]).collect();
        let found = throughput(&results(15, runs)).expect("a finding");
        let holds: Vec<bool> = found.claims.iter().map(|claim| claim.holds == Holds::Yes).collect();
        assert_eq!(holds, [true, false, true, false, false, false, true], "{:?}", found.claims);
        assert_eq!(found.claims[2].measured, "2.00 times");
    }
}
