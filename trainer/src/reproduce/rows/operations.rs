//! Rows 3 and 20: where the time of a step goes, by operation and by phase.
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::shared::{THREADS, all_timed, claim, least_to_most, ms, percent, table, timed, titles};
use crate::chart::{self, COLOURS, Part};
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const TIME_BY_OPERATION: Row = Row {
    number: 3,
    title: "Time by operation",
    seed: "000, Figure 1",
    published: "Over 15 steps of MobileNetV1 and ResNet-18 on a CPU, convolutions take at least twice as long as batch norms, which come \
                second.",
    work: Work { measurements: of_operations, finding: time_by_operation },
};

pub(super) const STEP_BREAKDOWN: Row = Row {
    number: 20,
    title: "What a step consists of",
    seed: "004, Figure 1",
    published: "A step of a ResNet takes 631 ms: 590 ms of computing on the device, 23 ms (3.7 %) of launching kernels, and the rest.",
    work: Work { measurements: of_steps, finding: step_breakdown },
};

/// The phases in which a network computes.
const COMPUTING: [&str; 4] = ["forward", "loss", "backward", "optimizer"];
/// Most of a step is more than half of it.
const MOST: f64 = 0.5;
/// Steps that warm up.
const WARM_UP: f64 = 3.0;
const MODELS: [&str; 2] = ["mobilenet_v1", "resnet18"];
/// What takes the most time, and what comes second, in the document.
const ORDER: &str = "convolution, batch norm";
/// Operations that the picture and the table show by name.
const SHOWN: usize = 6;
/// What the convolutions take in times of the batch norms: the document's number.
const TWICE: f64 = 2.0;
/// How often each network is run: a claim about times holds when it does in every run.
const RUNS: u64 = 3;

fn work(depth: Depth) -> &'static str {
    if depth == Depth::Quick { "--batch 4 --image-size 64" } else { "--batch 32 --image-size 224" }
}

fn of_operations(depth: Depth) -> Vec<Measurement> {
    // The networks take turns.
    let of = |(run, model): (u64, &str)| {
        let name = format!("{model}-{run}");
        let run = format!("train --model {model} {} --steps 15 {THREADS}", work(depth));
        Measurement::viewed(name, &run, &["times"], &["basis", "self_ns", "by_operation"])
    };
    (1..=RUNS).flat_map(|run| MODELS.map(|model| (run, model))).map(of).collect()
}

fn of_steps(depth: Depth) -> Vec<Measurement> {
    let run = format!("train --model resnet50 {} --steps 10 {THREADS}", work(depth));
    vec![Measurement::viewed("resnet50", &run, &["steps"], &["phases", "steps", "figures", "basis"])]
}

/// Time by operation, the longest first, in nanoseconds a step.
fn operations(value: &Value) -> Result<Vec<(String, f64)>> {
    let steps = number(value, "/basis/steps")?;
    let of = |one: &Value| Ok((text(one, "/name")?.to_owned(), number(one, "/self_ns")? / steps));
    let mut all = list(value, "/by_operation")?.iter().map(of).collect::<Result<Vec<_>>>()?;
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    Ok(all)
}

/// The time of an operation.
fn of(all: &[(String, f64)], name: &str) -> f64 {
    all.iter().find(|one| one.0 == name).map_or(0.0, |one| one.1)
}

fn time_by_operation(results: &Results) -> Result<Finding> {
    let (mut claims, mut numbers, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    let mut by_model = Vec::new();
    for model in MODELS {
        let of_model = results.beginning(&format!("{model}-"));
        let mut runs = of_model.into_iter().map(|(_, value)| operations(value)).collect::<Result<Vec<_>>>()?;
        let ratios: Vec<f64> = runs.iter().map(|all| of(all, "convolution") / of(all, "batch norm")).collect();
        let (least, most) = trainer_statistics::range(&ratios);
        let twice: Vec<bool> = ratios.iter().map(|ratio| *ratio >= TWICE).collect();
        claims.push(claim(
            format!("{model}: convolutions in times of batch norms"),
            "at least 2",
            format!("{least:.2} to {most:.2} in {} runs", runs.len()),
            Holds::in_every(
                &twice,
                format!("batch norms take more than half of the convolutions' time in {model} here"),
            ),
        ));
        let order =
            |all: &Vec<(String, f64)>| all.iter().take(2).map(|one| one.0.as_str()).collect::<Vec<_>>().join(", ");
        let orders: Vec<String> = runs.iter().map(order).collect();
        let same: Vec<bool> = orders.iter().map(|order| order == ORDER).collect();
        let mut distinct = orders;
        distinct.sort();
        distinct.dedup();
        let orders = distinct.join("; ");
        claims.push(claim(
            format!("{model}: what takes the most time, and what comes second"),
            ORDER,
            orders.clone(),
            Holds::in_every(&same, format!("the order in {model} is another here: {orders}")),
        ));
        // The run whose ratio is the median of all is drawn.
        runs.sort_by(|one, other| {
            let ratio = |all| of(all, "convolution") / of(all, "batch norm");
            ratio(one).total_cmp(&ratio(other))
        });
        let middle = runs.len() / 2;
        ensure!(!runs.is_empty(), "{model} was not run");
        let all = runs.swap_remove(middle);
        let total: f64 = all.iter().map(|(_, ns)| ns).sum();
        for (name, ns) in all.iter().take(SHOWN) {
            rows.push(vec![model.to_owned(), name.clone(), ms(*ns), percent(ns / total)]);
        }
        numbers.push(format!("{model} {least:.1} to {most:.1}"));
        by_model.push(all);
    }
    // The operations that any network has among its first, and all others together.
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in by_model.iter().flat_map(|all| all.iter().take(SHOWN)) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let part = |(name, colour): (&&str, _)| Part {
        name: (*name).to_owned(),
        colour,
        values: by_model.iter().map(|all| of(all, name) / 1e6).collect(),
    };
    let mut parts: Vec<Part> = names.iter().zip(COLOURS.iter().skip(1).copied().cycle()).map(part).collect();
    let rest = |all: &Vec<(String, f64)>| {
        all.iter().filter(|one| !names.contains(&one.0.as_str())).map(|one| one.1 / 1e6).sum::<f64>()
    };
    parts.push(Part { name: "others".to_owned(), colour: COLOURS[0], values: by_model.iter().map(rest).collect() });
    let title = "Time of a training step by operation";
    let svg = chart::rows(&titles(title, "ms", ""), &MODELS.map(str::to_owned), &parts, &[])?;
    Ok(Finding {
        claims: all_timed(results, claims),
        number: format!("convolutions in times of batch norms: {}", numbers.join(", ")),
        figures: vec![Figure { name: "operations".to_owned(), title: title.to_owned(), svg }],
        tables: vec![table("The longest operations", &["model", "operation", ">a step", ">of it"], rows)],
        notes: vec![
            "Self times, forward and backward together, as a mean over the steps behind the first three. The table and the picture are of \
             the run whose ratio of convolutions to batch norms is the median of all."
                .to_owned(),
        ],
    })
}

/// The phases of a step, as medians over the steps, and whether each step's phases sum to it.
fn step_breakdown(results: &Results) -> Result<Finding> {
    let value = results.of("resnet50")?;
    let mut figures: Vec<(&str, f64)> = Vec::new();
    for figure in list(value, "/figures")? {
        figures.push((text(figure, "/name")?, number(figure, "/median_ns")?));
    }
    let step = figures.iter().find(|one| one.0 == "step").context("there is a figure of the whole step")?.1;
    let phases: Vec<(&str, f64)> = figures.iter().copied().filter(|one| one.0 != "step").collect();
    let names = list(value, "/phases")?;
    let place = |name: &str| names.iter().position(|phase| phase == name);
    let computing: Vec<usize> = COMPUTING.iter().filter_map(|name| place(name)).collect();
    let mut whole = Vec::new();
    let mut shares = Vec::new();
    for one in list(value, "/steps")? {
        let phases: Vec<f64> = list(one, "/by_phase_ns")?.iter().filter_map(Value::as_f64).collect();
        let wall = number(one, "/wall_ns")?;
        whole.push(phases.iter().sum::<f64>() == wall);
        if number(one, "/first_step")? > WARM_UP {
            shares.push(computing.iter().filter_map(|place| phases.get(*place)).sum::<f64>() / wall);
        }
    }
    ensure!(!shares.is_empty(), "no step was measured");
    let half: Vec<bool> = shares.iter().map(|share| *share > MOST).collect();
    let claims = vec![
        claim(
            "the parts of a step sum to the step",
            "590 + 23 of 631 ms, the rest by other names",
            format!("to the nanosecond in {} of {} steps", whole.iter().filter(|exact| **exact).count(), whole.len()),
            Holds::if_so(whole.iter().all(|exact| *exact), "some time of a step belongs to no phase"),
        ),
        claim(
            "most of a step is computing",
            percent(590.0 / 631.0),
            format!("{} in {} steps", least_to_most(&shares, percent), shares.len()),
            timed(results, Holds::in_every(&half, "less than half of a step here is computing")),
        ),
        claim(
            "launching kernels on a GPU",
            "3.7 %",
            "-",
            Holds::Unknown("on a CPU nothing is launched: operators compute where they are called".to_owned()),
        ),
    ];
    let part = |(one, colour): (&(&str, f64), _)| Part { name: one.0.to_owned(), colour, values: vec![one.1 / 1e6] };
    let parts: Vec<Part> = phases.iter().zip(COLOURS.iter().skip(1).copied().cycle()).map(part).collect();
    let title = "A training step of ResNet-50 by phase";
    let svg = chart::rows(&titles(title, "ms", ""), &["resnet50".to_owned()], &parts, &[ms(step)])?;
    let rows = phases.iter().map(|(name, ns)| vec![(*name).to_owned(), ms(*ns), percent(ns / step)]).collect();
    Ok(Finding {
        claims,
        number: format!("{} of a step is computing", least_to_most(&shares, percent)),
        figures: vec![Figure { name: "phases".to_owned(), title: title.to_owned(), svg }],
        tables: vec![table("Medians over the steps", &["phase", ">time", ">of the step"], rows)],
        notes: vec![
            "`(none)` is what a step spends outside of all phases. A median of a phase is over all steps behind the first three, so the \
             medians do not sum to that of the step."
                .to_owned(),
        ],
    })
}
