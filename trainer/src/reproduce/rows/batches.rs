//! Rows 5 and 15: time and throughput against the batch.
use anyhow::{Context, Result};
use serde_json::Value;

use super::shared::{claim, lines, ms, table, titles};
use crate::chart::{Dot, Line, Scale};
use crate::reproduce::results::{Depth, Results, number};
use crate::reproduce::spec::{FOLDER, Finding, Holds, Measurement, Row, Work};

pub(super) const TIME_FOR_AN_IMAGE: Row = Row {
    number: 5,
    title: "Time for an image against the batch",
    seed: "000, Figures 8 and 9",
    published: "On a CPU a larger batch does not make an image significantly faster; on a Jetson's GPU it does.",
    work: Some(Work { measurements: of_an_image, finding: time_for_an_image }),
};

pub(super) const THROUGHPUT: Row = Row {
    number: 15,
    title: "Throughput against the batch",
    seed: "001, Observations 10 and 11, Figure 8",
    published: "From batch 4 to 64 on a TX2, ResNet50 goes from 9 to 55 samples a second (6.1 times), a deep reinforcement learner from \
                889 to 13,618 (15.3 times), DenseNet 1.7 times. Throughput rises with the batch for all models.",
    work: Some(Work { measurements: of_throughput, finding: throughput }),
};

const COLUMNS: &[&str] = &[
    "model",
    "mode",
    "batch",
    "image_size",
    "threads",
    "runs",
    "step_ns_median",
    "step_ns_median_low",
    "step_ns_median_high",
    "samples_per_second",
    "peak_live_bytes",
];
/// An image is significantly faster in a larger batch from this factor on.
const FASTER: f64 = 1.5;
/// The models of row 15 and their speed-up in the document.
const MODELS: [(&str, f64); 3] = [("resnet50", 55.0 / 9.0), ("dqn", 13_618.0 / 889.0), ("densenet40_12", 1.7)];

fn sweep(what: &str) -> String {
    format!("trainer sweep {what} --out {FOLDER}/sweep")
}

fn of_an_image(depth: Depth) -> Vec<Measurement> {
    let what = match depth {
        Depth::Quick => "--models resnet18 --modes train,infer --batch 1,4,16 --image-size 64 --repeat 3 --steps 6",
        Depth::Full => "--models resnet18,mobilenet_v1 --modes train,infer --batch 1,2,4,8,16,32 --repeat 5 --steps 10",
    };
    let on_a_gpu = |batch: u64| {
        let command = format!(
            "trainer train --model resnet18 --device cuda:0 --batch {batch} --steps 10 --json-times --out {FOLDER}/run.timeline.json"
        );
        Measurement::json(format!("gpu-{batch}"), command).on_a_gpu()
    };
    let mut all = vec![Measurement::table("batches", sweep(what), "sweep/statistics.csv", COLUMNS)];
    all.extend([1, 32].map(on_a_gpu));
    all
}

fn of_throughput(depth: Depth) -> Vec<Measurement> {
    let what = match depth {
        Depth::Quick => "--models resnet50,dqn,densenet40_12 --batch 4,16 --image-size small --repeat 1 --steps 5",
        Depth::Full => "--models resnet50,dqn,densenet40_12 --batch 4,8,16,32,64 --repeat 3 --steps 8",
    };
    vec![Measurement::table("batches", sweep(what), "sweep/statistics.csv", COLUMNS)]
}

/// What a sweep found for one model in one mode, the smallest batch first: (batch, row).
fn of<'a>(rows: &'a [Value], model: &str, mode: &str) -> Result<Vec<(u64, &'a Value)>> {
    let found = rows.iter().filter(|row| row["model"] == model && row["mode"] == mode);
    let mut found = found.map(|row| Ok((number(row, "/batch")? as u64, row))).collect::<Result<Vec<_>>>()?;
    found.sort_by_key(|(batch, _)| *batch);
    Ok(found)
}

/// All pairs of a model and a mode that a sweep has, in its order.
fn pairs(rows: &[Value]) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for row in rows {
        let pair = (row["model"].as_str().unwrap_or("").to_owned(), row["mode"].as_str().unwrap_or("").to_owned());
        if !all.contains(&pair) {
            all.push(pair);
        }
    }
    all
}

/// The batches that any model was run with.
fn all_batches(rows: &[Value]) -> Result<Vec<u64>> {
    let mut batches = rows.iter().map(|row| Ok(number(row, "/batch")? as u64)).collect::<Result<Vec<_>>>()?;
    batches.sort_unstable();
    batches.dedup();
    Ok(batches)
}

/// A line over all batches of what `value` says of a row: value, low and high.
fn drawn(name: &str, batches: &[u64], of: &[(u64, &Value)], value: fn(&Value, u64) -> Result<Dot>) -> Result<Line> {
    let dot = |batch: &u64| {
        let row = of.iter().find(|(other, _)| other == batch);
        row.map(|(batch, row)| value(row, *batch)).transpose()
    };
    Ok(Line { name: name.to_owned(), dots: batches.iter().map(dot).collect::<Result<_>>()? })
}

/// Milliseconds for one image, and where the median lies.
fn for_an_image(row: &Value, batch: u64) -> Result<Dot> {
    let at = |pointer: &str| number(row, pointer).map(|ns| ns / batch as f64 / 1e6);
    Ok(Dot { value: at("/step_ns_median")?, low: at("/step_ns_median_low")?, high: at("/step_ns_median_high")? })
}

/// Samples in a second, and where the median lies.
fn in_a_second(row: &Value, batch: u64) -> Result<Dot> {
    let Dot { value, low, high } = for_an_image(row, batch)?;
    Ok(Dot { value: 1e3 / value, low: 1e3 / high, high: 1e3 / low })
}

fn rows_of(results: &Results) -> Result<&Vec<Value>> {
    results.of("batches")?.as_array().context("a table is a list")
}

fn time_for_an_image(results: &Results) -> Result<Finding> {
    let rows = rows_of(results)?;
    let batches = all_batches(rows)?;
    let (mut claims, mut all, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    let mut most: f64 = 0.0;
    for (model, mode) in pairs(rows) {
        let of = of(rows, &model, &mode)?;
        let times =
            of.iter().map(|&(batch, row)| Ok((batch, for_an_image(row, batch)?))).collect::<Result<Vec<_>>>()?;
        let (first, last) = times.first().zip(times.last()).context("a sweep has a batch")?;
        let faster = first.1.value / last.1.value;
        most = most.max(faster);
        claims.push(claim(
            format!("{model}, {mode}, on a CPU: an image from batch {} to {}", first.0, last.0),
            "not significantly faster",
            format!("{:.2} to {:.2} ms: {faster:.2} times as fast", first.1.value, last.1.value),
            Holds::if_so(
                faster < FASTER,
                format!(
                    "an image is up to {faster:.1} times as fast in a larger batch ({model}, {mode}), which shares what a step costs besides \
                     its images, such as the update of the parameters"
                ),
            ),
        ));
        for (batch, dot) in &times {
            let interval = format!("{:.2} .. {:.2} ms", dot.low, dot.high);
            cells.push(vec![model.clone(), mode.clone(), batch.to_string(), format!("{:.2} ms", dot.value), interval]);
        }
        all.push(drawn(&format!("{model}, {mode}"), &batches, &of, for_an_image)?);
    }
    let on_a_gpu = match results.unavailable("gpu-32") {
        Some((reason, _)) => {
            claim("on a GPU: an image in a larger batch", "faster", "-", Holds::Unknown(reason.to_owned()))
        }
        None => gpu(results)?,
    };
    claims.push(on_a_gpu);
    let steps: Vec<String> = batches.iter().map(u64::to_string).collect();
    let titles = titles("Time for an image", "batch", "ms");
    Ok(Finding {
        claims,
        number: format!("an image is up to {most:.2} times as fast in the largest batch"),
        figures: vec![lines("time", &titles, Scale::Fitting, &steps, &all)?],
        tables: vec![table(
            "Time for an image",
            &["model", "mode", ">batch", ">median", ">where it lies with 95 %"],
            cells,
        )],
        notes: vec![format!(
            "A step's median without its first three steps, divided by the batch. \"Significantly\" is taken as {FASTER} times as fast."
        )],
    })
}

/// The time for an image on a GPU, in batches of 1 and 32.
fn gpu(results: &Results) -> Result<crate::reproduce::spec::Claim> {
    let time = |batch: u64| -> Result<f64> {
        let name = format!("gpu-{batch}");
        let steps = results.of(&name)?["step_ns"].as_array().context("a run prints its steps")?;
        let steps: Vec<f64> = steps.iter().skip(3).filter_map(Value::as_f64).collect();
        Ok(trainer_statistics::median(&steps) / batch as f64)
    };
    let (one, many) = (time(1)?, time(32)?);
    let measured = format!("{} at batch 1, {} at batch 32", ms(one), ms(many));
    Ok(claim(
        "on a GPU: an image in a larger batch",
        "faster",
        measured,
        Holds::if_so(many * FASTER < one, "this GPU is busy with one image already"),
    ))
}

fn throughput(results: &Results) -> Result<Finding> {
    let rows = rows_of(results)?;
    let batches = all_batches(rows)?;
    let (mut claims, mut all, mut cells, mut gains) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (model, published) in MODELS {
        let of = of(rows, model, "train")?;
        let speeds =
            of.iter().map(|&(batch, row)| Ok((batch, in_a_second(row, batch)?))).collect::<Result<Vec<_>>>()?;
        let Some((first, last)) = speeds.first().zip(speeds.last()) else { continue };
        let gain = last.1.value / first.1.value;
        gains.push((model, gain));
        claims.push(claim(
            format!("{model}: throughput from batch {} to {}", first.0, last.0),
            format!("rises, {published:.1} times from 4 to 64"),
            format!("{:.1} to {:.1} samples/s: {gain:.2} times", first.1.value, last.1.value),
            Holds::if_so(
                last.1.low > first.1.high,
                format!("{model} keeps this processor busy with the smallest batch already"),
            ),
        ));
        for (batch, dot) in &speeds {
            let interval = format!("{:.1} .. {:.1}", dot.low, dot.high);
            cells.push(vec![model.to_owned(), batch.to_string(), format!("{:.1}", dot.value), interval]);
        }
        all.push(drawn(model, &batches, &of, in_a_second)?);
    }
    let most = gains.iter().max_by(|one, other| one.1.total_cmp(&other.1)).context("no model was run")?;
    claims.push(claim(
        "whose throughput rises most",
        "deep reinforcement learning",
        most.0,
        Holds::if_so(most.0 == "dqn", format!("{} gains most here, {:.1} times", most.0, most.1)),
    ));
    let steps: Vec<String> = batches.iter().map(u64::to_string).collect();
    let titles = titles("Throughput of training", "batch", "samples/s");
    let number = gains.iter().map(|(model, gain)| format!("{model} {gain:.1}")).collect::<Vec<_>>().join(", ");
    Ok(Finding {
        claims,
        number: format!("times as many samples a second in the largest batch: {number}"),
        figures: vec![lines("throughput", &titles, Scale::Fitting, &steps, &all)?],
        tables: vec![table("Samples a second", &["model", ">batch", ">median", ">where it lies with 95 %"], cells)],
        notes: vec![
            "Of a step's median without its first three steps, on a CPU; the document's are of a TX2's GPU.".to_owned(),
        ],
    })
}
