//! Row 13: the energy of a training step against the batch, where a sensor can be read.
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::shared::{THREADS, all_timed, cannot_be_told, claim, least_to_most, line_of_runs, lines, table, titles};
use crate::chart::Scale;
use crate::reproduce::results::{Depth, Results, list, text};
use crate::reproduce::spec::{FOLDER, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 13,
    title: "Energy of a step against the batch",
    seed: "001, Observations 6 to 8, Figures 6 and 7",
    published: "A batch 16 times as large takes 2.2 to 10.5 times the energy. In networks for images the GPU takes most power, in an LSTM \
                the memory. Power repeats with each step.",
    work: Work { measurements, finding },
};

const MODELS: [(&str, &str); 2] = [("densenet40_12", "--image-size 32"), ("squeezenet1_1", "--image-size 64")];
const BATCHES: [u64; 2] = [4, 64];
const RUNS: u64 = 3;
/// The least and the most that a batch 16 times as large takes, in the document.
const PUBLISHED: [f64; 2] = [2.2, 10.5];
/// What the document found of a step of all networks, and of what takes power.
const CLAIMS: [(&str, &str); 3] = [
    ("energy of a step with batch 64 in times of batch 4", "2.2 to 10.5"),
    ("what takes most power", "the GPU; in an LSTM the memory"),
    ("power repeats with each step", "it does"),
];

fn measurements(depth: Depth) -> Vec<Measurement> {
    let steps = if depth == Depth::Quick { 4 } else { 20 };
    let of = |(run, model, size, batch): (u64, &str, &str, u64)| {
        let timeline = format!("{FOLDER}/run.timeline.json");
        Measurement {
            name: format!("{model}-{batch}-{run}"),
            commands: vec![
                format!(
                    "trainer train --model {model} --batch {batch} {size} --steps {steps} {THREADS} --layer-times on --out {timeline}"
                ),
                format!("viewer power {timeline} --json"),
            ],
            keep: &["energy/meters", "energy/unavailable", "by_phase"],
        }
    };
    // Networks and batches take turns.
    let all = (1..=RUNS).flat_map(|run| MODELS.map(|(model, size)| (run, model, size)));
    all.flat_map(|(run, model, size)| BATCHES.map(|batch| (run, model, size, batch))).map(of).collect()
}

/// The meters that are no part of another, by their place.
fn meters(run: &Value) -> Result<Vec<usize>> {
    let meters = list(run, "/energy/meters")?.iter().enumerate();
    let whole = meters.filter(|(_, meter)| meter["part_of"].is_null() && !meter["energy_uj"].is_null());
    Ok(whole.map(|(place, _)| place).collect())
}

/// Microjoules of the phases that are parts of a step.
fn energy_of_steps(run: &Value) -> Result<f64> {
    let meters = meters(run)?;
    ensure!(!meters.is_empty(), "a run has no meter that others have");
    let mut sum = 0.0;
    for phase in list(run, "/by_phase")? {
        if ["data", "forward", "loss", "backward", "optimizer"].contains(&text(phase, "/name")?) {
            let by_meter = list(phase, "/by_meter_uj")?;
            sum += meters.iter().filter_map(|place| by_meter.get(*place)?.as_f64()).sum::<f64>();
        }
    }
    Ok(sum)
}

/// Why there is no energy.
fn no_sensor(run: &Value) -> Result<String> {
    let reasons: Vec<&str> = list(run, "/energy/unavailable")?.iter().filter_map(Value::as_str).collect();
    let reasons = reasons.join("; ").replace("unavailable: ", "");
    Ok(format!(
        "no sensor of energy can be read on this machine ({reasons}); with RAPL, a battery, an INA3221 or an NVIDIA GPU whose readings the \
         user may see, `cargo xtask reproduce 13 --full` measures it"
    ))
}

fn finding(results: &Results) -> Result<Finding> {
    let (_, first) = *results.beginning("").first().context("no run ended")?;
    if meters(first)?.is_empty() {
        return Ok(cannot_be_told(&CLAIMS, &no_sensor(first)?));
    }
    let [small, large] = BATCHES;
    let (mut claims, mut rows, mut drawn, mut numbers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (model, _) in MODELS {
        let mut by_batch = Vec::new();
        for batch in BATCHES {
            let runs = results.beginning(&format!("{model}-{batch}-"));
            let joules = runs.iter().map(|(_, run)| Ok(energy_of_steps(run)? / 1e6)).collect::<Result<Vec<f64>>>()?;
            rows.push(vec![
                model.to_owned(),
                batch.to_string(),
                least_to_most(&joules, |joules| format!("{joules:.1} J")),
            ]);
            by_batch.push(joules);
        }
        let ratios: Vec<f64> = by_batch[0].iter().zip(&by_batch[1]).map(|(small, large)| large / small).collect();
        let within: Vec<bool> = ratios.iter().map(|ratio| (PUBLISHED[0]..=PUBLISHED[1]).contains(ratio)).collect();
        let measured = least_to_most(&ratios, |ratio| format!("{ratio:.1}"));
        claims.push(claim(
            format!("{model}: energy of a step with batch {large} in times of batch {small}"),
            CLAIMS[0].1,
            measured.clone(),
            Holds::in_every(&within, format!("{model} takes another multiple of the energy here")),
        ));
        numbers.push(format!("{model} {measured}"));
        drawn.push(line_of_runs(model, &by_batch));
    }
    let open = "the meters of this machine are those of the table; a comparison with a TX2's is not made";
    claims.extend(
        CLAIMS[1..].iter().map(|(what, published)| claim(*what, *published, "-", Holds::Unknown(open.to_owned()))),
    );
    let meters = list(first, "/energy/meters")?.iter().map(|meter| {
        let known = |name: &str| meter[name].as_str().unwrap_or("-").to_owned();
        vec![known("name"), known("kind"), known("part_of")]
    });
    let title = "Energy of all steps against the batch";
    let names = BATCHES.map(|batch| batch.to_string());
    Ok(Finding {
        number: format!("batch {large} in times of batch {small}: {}", numbers.join(", ")),
        claims: all_timed(results, claims),
        figures: vec![lines("energy", &titles(title, "batch", "J"), Scale::Linear, &names, &drawn)?],
        tables: vec![
            table("Energy of all steps, by network and batch", &["model", ">batch", ">energy"], rows),
            table("Meters", &["meter", "instrument", "part of"], meters.collect()),
        ],
        notes: vec![
            "Of meters that are no part of another; they count what all programs on the machine use. All steps of a run count, the first \
             ones too; both batches do as many."
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{Outcome, example};
    use crate::reproduce::spec::Verdict;
    use serde_json::json;

    fn all(of: impl Fn(&str, u64) -> Value) -> Results {
        let names: Vec<(String, Value)> = measurements(Depth::Quick)
            .into_iter()
            .map(|one| {
                let value = of(&one.name, if one.name.contains("-64-") { 64 } else { 4 });
                (one.name, value)
            })
            .collect();
        let named = names.iter().map(|(name, value)| (name.as_str(), Outcome::Done(value.clone())));
        example(13, named.collect())
    }

    #[test]
    fn without_a_sensor_it_says_what_was_looked_for_and_what_would_do() {
        let results = all(
            |_, _| json!({ "energy": { "meters": [], "unavailable": ["rapl: unavailable: none"] }, "by_phase": [] }),
        );
        let found = finding(&results).expect("a finding");
        let verdict = Verdict::of(&found.claims);
        assert_eq!(verdict.word(), "cannot be run here because");
        for part in ["(rapl: none)", "an INA3221", "`cargo xtask reproduce 13 --full`"] {
            assert!(verdict.because().contains(part), "{part:?} is missing in {}", verdict.because());
        }
    }

    /// The core is a part of the package, so 8 J and 2 J are the package's: 4 times. What no step used does not count.
    #[test]
    fn energy_is_that_of_whole_meters_in_steps() {
        let results = all(|_, batch| {
            let uj: u64 = if batch == 64 { 8_000_000 } else { 2_000_000 };
            json!({
                "energy": { "unavailable": [], "meters": [
                    { "name": "core", "kind": "rapl", "part_of": "package", "energy_uj": 9 },
                    { "name": "package", "kind": "rapl", "part_of": null, "energy_uj": 9 },
                ] },
                "by_phase": [
                    { "name": "forward", "by_meter_uj": [1, uj] }, { "name": "init", "by_meter_uj": [1, 99_000_000] },
                ],
            })
        });
        let found = finding(&results).expect("a finding");
        assert_eq!(found.number, "batch 64 in times of batch 4: densenet40_12 4.0, squeezenet1_1 4.0");
        assert_eq!(Verdict::of(&found.claims), Verdict::Reproduced);
        assert_eq!(found.tables[0].rows[1], ["densenet40_12", "64", "8.0 J"]);
    }
}
