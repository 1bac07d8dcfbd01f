//! Row 14: the memory of a training step by category, against the batch.
use std::collections::BTreeMap;

use alloc_timeline::Category;
use anyhow::{Context, Result};
use serde_json::Value;

use super::shared::{MIB, THREADS, claim, mib, table, titles};
use crate::chart::{self, Part, of_category};
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 14,
    title: "Memory by category against the batch",
    seed: "001, Observation 9, Figure 9",
    published: "Parameters, gradients and input stay constant as the batch grows, intermediate data grows. DenseNet40 needs 2.2 GB at \
                batch 4 and 5.9 GB at batch 64.",
    work: Work { measurements, finding },
};

const MODELS: [&str; 2] = ["densenet40_12", "resnet18"];
/// Heights and widths of their images.
const SIZES: [u64; 2] = [32, 224];

fn measurements(depth: Depth) -> Vec<Measurement> {
    let batches = if depth == Depth::Quick { "4,8,16" } else { "4,8,16,32,64" };
    let of = |(model, size)| {
        let command = format!(
            "trainer tables --models {model} --batches {batches} --image-size {size} {THREADS} --measure --json"
        );
        Measurement::json(model, command)
    };
    let mut all: Vec<Measurement> = MODELS.into_iter().zip(SIZES).map(of).collect();
    all.push(Measurement::json(
        "planned",
        "trainer tables --models densenet40_12 --batches 4,64 --image-size 32 --json",
    ));
    all
}

/// What the line of a category is: bytes at any batch, and of each image.
struct Slopes<'a> {
    by: BTreeMap<&'a str, (f64, f64)>,
}

impl<'a> Slopes<'a> {
    fn of(value: &'a Value) -> Result<Slopes<'a>> {
        let measured = list(value, "/lines")?.iter().filter(|line| line["by"] == "measured");
        let line = |line: &'a Value| {
            let numbers = (number(line, "/constant_bytes")?, number(line, "/bytes_an_image")?);
            Ok((text(line, "/category")?, numbers))
        };
        Ok(Slopes { by: measured.map(line).collect::<Result<_>>()? })
    }

    /// Bytes of each further image.
    fn each(&self, category: Category) -> Result<f64> {
        let of = self.by.get(category.name());
        Ok(of.with_context(|| format!("there is no line of {}", category.name()))?.1)
    }
}

/// The categories over the batches as columns.
fn figure(model: &str, value: &Value) -> Result<Figure> {
    let rows = list(value, "/rows")?;
    let batches = rows.iter().map(|row| Ok(number(row, "/batch")?.to_string())).collect::<Result<Vec<_>>>()?;
    let mut parts = Vec::new();
    for category in [
        Category::Parameter,
        Category::Gradient,
        Category::OptimizerState,
        Category::Input,
        Category::Activation,
        Category::Workspace,
    ] {
        let at = |row: &Value| number(row, &format!("/measured/by_category/{}", category.name()));
        let values = rows.iter().map(|row| at(row).unwrap_or(0.0) / MIB).collect();
        parts.push(Part { name: category.name().to_owned(), colour: of_category(category), values });
    }
    let title = format!("{model}: memory of a training step by category");
    let svg = chart::columns(&titles(&title, "batch", "MiB"), &batches, &parts)?;
    Ok(Figure { name: model.replace('_', "-"), title, svg })
}

fn finding(results: &Results) -> Result<Finding> {
    let mut claims = Vec::new();
    let mut lines = Vec::new();
    let mut figures = Vec::new();
    for model in MODELS {
        let value = results.of(model)?;
        let slopes = Slopes::of(value)?;
        let constant = |category: Category, name: &str, because: &str| -> Result<_> {
            let each = slopes.each(category)?;
            let measured = format!("{:.4} MiB a further image", each / MIB);
            Ok(claim(format!("{model}: {name} constant"), "0", measured, Holds::if_so(each == 0.0, because)))
        };
        claims.push(constant(Category::Parameter, "parameters are", "parameters grow with the batch")?);
        claims.push(constant(Category::Gradient, "gradients are", "gradients grow with the batch")?);
        claims.push(constant(
            Category::Input,
            "input is",
            "a batch is all of its images, so the input grows by each one",
        )?);
        let each = slopes.each(Category::Activation)?;
        claims.push(claim(
            format!("{model}: intermediate data grows"),
            "grows",
            format!("by {} a further image", mib(each)),
            Holds::if_so(each > 0.0, "it does not grow"),
        ));
        for (category, (constant, each)) in &slopes.by {
            lines.push(vec![
                model.to_owned(),
                (*category).to_owned(),
                mib(*constant),
                format!("{:.4} MiB", each / MIB),
            ]);
        }
        figures.push(figure(model, value)?);
    }
    let planned = list(results.of("planned")?, "/rows")?;
    let measured = list(results.of("densenet40_12")?, "/rows")?;
    let row = |rows: &'_ [Value], batch: u64| rows.iter().find(|row| row["batch"] == batch).cloned();
    // Both numbers are of the same kind: a quick run has not run batch 64, and takes the plan's.
    let (rows, peak) = match row(measured, 64) {
        Some(_) => (measured, "/measured/tensor_bytes"),
        None => (planned, "/plan_peak_bytes"),
    };
    let live = |batch: u64| number(&row(rows, batch).context("a batch is missing")?, peak);
    let (low, high) = (live(4)?, live(64)?);
    let growth = (high - low) / 60.0;
    // Both published numbers are rounded to a tenth of a GB.
    let published = [5.85 - 2.25, 5.95 - 2.15].map(|gb| gb * 1e9 / 60.0);
    claims.push(claim(
        "DenseNet40 from batch 4 to 64",
        "2.2 to 5.9 GB: 61.7 MB a further image",
        format!("{:.2} to {:.2} GB: {:.1} MB a further image", low / 1e9, high / 1e9, growth / 1e6),
        Holds::if_so(
            (published[0]..=published[1]).contains(&growth),
            "the document measured TensorFlow's process on a TX2, its GPU included; these are the tensors of PyTorch's step on a CPU",
        ),
    ));
    let input = Slopes::of(results.of("resnet18")?)?.each(Category::Input)?;
    Ok(Finding {
        claims,
        number: format!("the input is not constant: {:.3} MiB an image (ResNet-18)", input / MIB),
        figures,
        tables: vec![table(
            "Straight lines over the batch, least squares",
            &["model", "category", ">at any batch", ">of each image"],
            lines,
        )],
        notes: vec![
            "Activations, input and state are those at the end of the forward pass, gradients those at the end of the backward pass, the \
             workspace that at the peak. Where batch 64 was not run, the numbers of DenseNet40 at batches 4 and 64 are the plan's. The growth is the document's when it lies within the rounding of \
             its two numbers."
                .to_owned(),
        ],
    })
}
