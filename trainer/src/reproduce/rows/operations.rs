//! Rows 3 and 20: where the time of a step goes, by operation and by phase.
use anyhow::{Context, Result};
use serde_json::Value;

use super::shared::{claim, ms, percent, table, titles};
use crate::chart::{self, COLOURS, Part};
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const TIME_BY_OPERATION: Row = Row {
    number: 3,
    title: "Time by operation",
    seed: "000, Figure 1",
    published: "Over 15 steps of MobileNetV1 and ResNet-18 on a CPU, convolutions take at least twice as long as batch norms, which come \
                second.",
    work: Some(Work { measurements: of_operations, finding: time_by_operation }),
};

pub(super) const STEP_BREAKDOWN: Row = Row {
    number: 20,
    title: "What a step consists of",
    seed: "004, Figure 1",
    published: "A step of a ResNet takes 631 ms: 590 ms of computing on the device, 23 ms (3.7 %) of launching kernels, and the rest.",
    work: Some(Work { measurements: of_steps, finding: step_breakdown }),
};

const MODELS: [&str; 2] = ["mobilenet_v1", "resnet18"];
/// Operations that the picture and the table show by name.
const SHOWN: usize = 6;
/// What the convolutions take in times of the batch norms.
const TWICE: f64 = 2.0;

fn work(depth: Depth) -> &'static str {
    if depth == Depth::Quick { "--batch 4 --image-size 64" } else { "--batch 32 --image-size 224" }
}

fn of_operations(depth: Depth) -> Vec<Measurement> {
    let of = |model: &str| {
        let run = format!("train --model {model} {} --steps 15", work(depth));
        Measurement::viewed(model, &run, &["times"], &["basis", "self_ns", "by_operation"])
    };
    MODELS.into_iter().map(of).collect()
}

fn of_steps(depth: Depth) -> Vec<Measurement> {
    let run = format!("train --model resnet50 {} --steps 10", work(depth));
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

fn time_by_operation(results: &Results) -> Result<Finding> {
    let (mut claims, mut numbers, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    let mut by_model = Vec::new();
    for model in MODELS {
        let all = operations(results.of(model)?)?;
        let total: f64 = all.iter().map(|(_, ns)| ns).sum();
        let of = |name: &str| all.iter().find(|one| one.0 == name).map_or(0.0, |one| one.1);
        let (convolution, batch_norm) = (of("convolution"), of("batch norm"));
        let ratio = convolution / batch_norm;
        claims.push(claim(
            format!("{model}: convolutions in times of batch norms"),
            "at least 2",
            format!("{ratio:.2} ({} and {} a step)", ms(convolution), ms(batch_norm)),
            Holds::if_so(
                ratio >= TWICE,
                format!("batch norms take {} of {model}'s step here", percent(batch_norm / total)),
            ),
        ));
        let second = all.get(1).context("a network has two operations")?;
        claims.push(claim(
            format!("{model}: what takes the most time, and what comes second"),
            "convolution, batch norm",
            format!("{}, {}", all[0].0, second.0),
            Holds::if_so(
                all[0].0 == "convolution" && second.0 == "batch norm",
                format!("{} comes second in {model} here", second.0),
            ),
        ));
        for (name, ns) in all.iter().take(SHOWN) {
            rows.push(vec![model.to_owned(), name.clone(), ms(*ns), percent(ns / total)]);
        }
        numbers.push(format!("{model} {ratio:.1}"));
        by_model.push(all);
    }
    // The operations that any network has among its first, and all others together.
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in by_model.iter().flat_map(|all| all.iter().take(SHOWN)) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let of = |all: &[(String, f64)], name: &str| all.iter().find(|one| one.0 == name).map_or(0.0, |one| one.1 / 1e6);
    let part = |(name, colour): (&&str, _)| Part {
        name: (*name).to_owned(),
        colour,
        values: by_model.iter().map(|all| of(all, name)).collect(),
    };
    let mut parts: Vec<Part> = names.iter().zip(COLOURS.iter().skip(1).copied().cycle()).map(part).collect();
    let rest = |all: &Vec<(String, f64)>| {
        all.iter().filter(|one| !names.contains(&one.0.as_str())).map(|one| one.1 / 1e6).sum::<f64>()
    };
    parts.push(Part { name: "others".to_owned(), colour: COLOURS[0], values: by_model.iter().map(rest).collect() });
    let title = "Time of a training step by operation";
    let svg = chart::rows(&titles(title, "ms", ""), &MODELS.map(str::to_owned), &parts, &[])?;
    Ok(Finding {
        claims,
        number: format!("convolutions in times of batch norms: {}", numbers.join(", ")),
        figures: vec![Figure { name: "operations".to_owned(), title: title.to_owned(), svg }],
        tables: vec![table("The longest operations", &["model", "operation", ">a step", ">of it"], rows)],
        notes: vec![
            "Self times, forward and backward together, as a mean over the steps behind the first three.".to_owned(),
        ],
    })
}

/// The phases of a step, as medians over the steps, and how far each step's phases are from the step.
fn step_breakdown(results: &Results) -> Result<Finding> {
    let value = results.of("resnet50")?;
    let mut figures: Vec<(&str, f64)> = Vec::new();
    for figure in list(value, "/figures")? {
        figures.push((text(figure, "/name")?, number(figure, "/median_ns")?));
    }
    let step = figures.iter().find(|one| one.0 == "step").context("there is a figure of the whole step")?.1;
    let phases: Vec<(&str, f64)> = figures.iter().copied().filter(|one| one.0 != "step").collect();
    let mut off: f64 = 0.0;
    for one in list(value, "/steps")? {
        let parts = list(one, "/by_phase_ns")?.iter().filter_map(Value::as_f64).sum::<f64>();
        let steps = number(one, "/last_step")? - number(one, "/first_step")? + 1.0;
        let wall = number(one, "/wall_ns")?;
        off = off.max((parts / wall - 1.0).abs() / steps);
    }
    let of = |name: &str| phases.iter().find(|one| one.0 == name).map_or(0.0, |one| one.1);
    let computing = of("forward") + of("loss") + of("backward") + of("optimizer");
    let data = of("data");
    let claims = vec![
        claim(
            "the parts of a step sum to the step",
            "590 + 23 of 631 ms, the rest by other names",
            format!("off by {} at most", percent(off)),
            Holds::if_so(off < 0.001, "some time of a step belongs to no phase"),
        ),
        claim(
            "most of a step is computing",
            percent(590.0 / 631.0),
            percent(computing / step),
            Holds::if_so(computing / step > 0.9, "less than 90 % of a step here is computing"),
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
        number: format!("{} of a step is computing, {} is data", percent(computing / step), percent(data / step)),
        figures: vec![Figure { name: "phases".to_owned(), title: title.to_owned(), svg }],
        tables: vec![table("Medians over the steps", &["phase", ">time", ">of the step"], rows)],
        notes: vec!["`(none)` is what a step spends outside of all phases.".to_owned()],
    })
}
