//! Row 9: what each optimizer keeps.
use alloc_timeline::Category;
use anyhow::{Context, Result};
use serde_json::Value;

use super::shared::{MIB, THREADS, claim, mib, table, titles};
use crate::chart::{self, Part, of_category};
use crate::reproduce::results::{Depth, Results, list, number};
use crate::reproduce::spec::{Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 9,
    title: "The optimizer decides whether a network fits",
    seed: "000, Section 7",
    published: "For some networks switching from a more sophisticated optimizer, such as AdaGrad, to basic stochastic gradient descent \
                was the difference between being able to run the network and not.",
    work: Work { measurements, finding },
};

/// Name here, what is typed, and how many times the parameters it keeps by its definition.
const OPTIMIZERS: [(&str, &str, f64); 4] = [
    ("sgd", "--optimizer sgd --momentum 0", 0.0),
    ("momentum", "--optimizer sgd", 1.0),
    ("adagrad", "--optimizer adagrad", 1.0),
    ("adam", "--optimizer adam", 2.0),
];
/// How far a ratio may be from its definition: Adam also counts the steps of each tensor, a few bytes beside thousands.
const NEAR: f64 = 0.001;

fn measurements(depth: Depth) -> Vec<Measurement> {
    let (batch, size) = if depth == Depth::Quick { (1, 64) } else { (8, 224) };
    let of = |(name, typed, _): (&str, &str, f64)| {
        let work = format!("--models resnet18 --batches {batch} --image-size {size}");
        Measurement::json(name, format!("trainer tables {work} {typed} {THREADS} --measure --json"))
    };
    OPTIMIZERS.into_iter().map(of).collect()
}

fn finding(results: &Results) -> Result<Finding> {
    let mut claims = Vec::new();
    let mut rows = Vec::new();
    let mut parts = Vec::new();
    let categories = [
        Category::Parameter,
        Category::Gradient,
        Category::OptimizerState,
        Category::Input,
        Category::Activation,
        Category::Workspace,
    ];
    let mut states = Vec::new();
    let mut peaks = Vec::new();
    for (name, _, times) in OPTIMIZERS {
        let row = list(results.of(name)?, "/rows")?.first().context("one row was asked for")?;
        let state = number(row, "/measured/by_category/optimizer_state")?;
        let parameters = number(row, "/measured/by_category/parameter")?;
        let peak = number(row, "/measured/tensor_bytes")?;
        let ratio = state / parameters;
        states.push(format!("{name} {ratio:.2}"));
        peaks.push(peak);
        claims.push(claim(
            format!("{name}: state beside the parameters"),
            format!("{times} times, by its definition"),
            format!("{ratio:.4} times ({})", mib(state)),
            Holds::if_so((ratio - times).abs() < NEAR, format!("{name} keeps {ratio:.4} times the parameters")),
        ));
        rows.push(vec![name.to_owned(), mib(parameters), mib(state), mib(peak)]);
    }
    claims.push(claim(
        "AdaGrad needs more memory than SGD",
        "more, which decides whether some networks run",
        format!("{} more at the peak", mib(peaks[2] - peaks[0])),
        Holds::if_so(peaks[2] > peaks[0], "AdaGrad's peak is no higher"),
    ));
    for category in categories {
        let at = |row: &Value| number(row, &format!("/measured/by_category/{}", category.name())).unwrap_or(0.0);
        let values = OPTIMIZERS
            .iter()
            .map(|(name, ..)| Ok(list(results.of(name)?, "/rows")?.first().map_or(0.0, at) / MIB))
            .collect::<Result<Vec<f64>>>()?;
        parts.push(Part { name: category.name().to_owned(), colour: of_category(category), values });
    }
    let names: Vec<String> = OPTIMIZERS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let title = "ResNet-18: memory of a training step by optimizer";
    let svg = chart::rows(&titles(title, "MiB", ""), &names, &parts, &[])?;
    Ok(Finding {
        claims,
        number: format!("state in times the parameters: {}", states.join(", ")),
        figures: vec![Figure { name: "state".to_owned(), title: title.to_owned(), svg }],
        tables: vec![table(
            "ResNet-18, second step",
            &["optimizer", ">parameters", ">state", ">peak, tensors and workspace"],
            rows,
        )],
        notes: vec![
            "The picture has gradients as they are at the end of the backward pass and the workspace as it is at the peak, so its rows are \
             not the peaks."
                .to_owned(),
        ],
    })
}
