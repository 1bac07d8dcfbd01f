//! Row 17: the memory to train ResNets, by the seed's tables, by plan and as measured.
use anyhow::Result;
use serde_json::Value;

use super::shared::{MIB, THREADS, claim, line, lines, table, titles};
use crate::chart::Scale;
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 17,
    title: "Memory to train ResNets, by batch and image size",
    seed: "002, three tables",
    published: "Tables of the memory required to train ResNet-18 to 152: from 230 MB at batch 1 and 224 pixels to 25,776 MB for \
                ResNet-152 at batch 50.",
    work: Work { measurements, finding },
};

const MODELS: &str = "resnet18,resnet34,resnet50,resnet101,resnet152";
/// The seed's third table: GB at batch 8, by image size.
const BATCH_8: [(u64, [f64; 5]); 4] = [
    (224, [0.60, 0.98, 2.22, 3.41, 4.78]),
    (350, [1.22, 1.93, 4.90, 7.45, 10.47]),
    (500, [2.31, 3.60, 9.63, 14.69, 20.76]),
    (650, [3.79, 5.86, 15.99, 24.13, 34.06]),
];
/// Measured is what is published when it is no farther from it than this: the published numbers have three digits or more, whose
/// rounding is half a percent at most.
const NEAR: f64 = 0.005;

fn measurements(depth: Depth) -> Vec<Measurement> {
    let tables = |what: &str| format!("trainer tables {what} --json");
    let measure = |what: &str| tables(&format!("{what} {THREADS} --measure"));
    let measured = match depth {
        Depth::Quick => "--models resnet18,resnet34 --batches 1,3,5 --image-size 224",
        Depth::Full => {
            "--models resnet18,resnet34,resnet50,resnet101,resnet152 --batches 1,3,5,10,30,50 --image-size 224"
        }
    };
    let mut all = vec![
        Measurement::json(
            "planned-batches",
            tables(&format!("--models {MODELS} --batches 1,3,5,10,30,50 --image-size 224")),
        ),
        Measurement::json(
            "planned-sizes",
            tables(&format!("--models {MODELS} --batches 1 --image-sizes 350,500,650,1100,1500")),
        ),
        Measurement::json(
            "planned-batch-8",
            tables(&format!("--models {MODELS} --batches 8 --image-sizes 224,350,500,650")),
        ),
        Measurement::json("measured-batches", measure(measured)),
    ];
    if depth == Depth::Full {
        let sizes = "--models resnet18,resnet34,resnet50 --batches 1 --image-sizes 350,500,650";
        all.push(Measurement::json("measured-sizes", measure(sizes)));
    }
    all
}

/// One row of `trainer tables`, in MiB.
struct Point {
    model: String,
    batch: u64,
    size: u64,
    published: Option<f64>,
    twice: f64,
    plan: f64,
    measured: Option<f64>,
}

impl Point {
    fn of(row: &Value) -> Result<Point> {
        let mib = |pointer: &str| number(row, pointer).map(|bytes| bytes / MIB);
        let (batch, size) = (number(row, "/batch")? as u64, number(row, "/size")? as u64);
        let model = text(row, "/model")?.to_owned();
        let of_table =
            |place: usize| BATCH_8.iter().find(|(of, _)| batch == 8 && *of == size).map(|(_, gb)| gb[place] * 1024.0);
        let place = MODELS.split(',').position(|name| name == model);
        Ok(Point {
            published: place.and_then(of_table).or(row["published_mib"].as_f64()),
            twice: mib("/every_map_twice_bytes")?,
            plan: mib("/plan_peak_bytes")?,
            measured: mib("/measured/tensor_bytes").ok(),
            model,
            batch,
            size,
        })
    }

    fn all(value: &Value) -> Result<Vec<Point>> {
        list(value, "/rows")?.iter().map(Point::of).collect()
    }

    fn cells(&self) -> Vec<String> {
        let known = |mib: Option<f64>| mib.map_or("-".to_owned(), |mib| format!("{mib:.1}"));
        let ratio = match (self.published, self.measured) {
            (Some(published), Some(measured)) => format!("{:.2}", published / measured),
            (Some(published), None) => format!("{:.2} (plan)", published / self.plan),
            _ => "-".to_owned(),
        };
        let names = [self.model.clone(), self.batch.to_string(), self.size.to_string(), known(self.published)];
        let numbers = [self.twice, self.plan].map(|mib| format!("{mib:.1}"));
        names.into_iter().chain(numbers).chain([known(self.measured), ratio]).collect()
    }
}

const HEADS: [&str; 8] =
    ["model", ">batch", ">image", ">published", ">every map twice", ">plan", ">measured", ">published / measured"];

/// The points of the plan, with what was measured of them.
fn joined(planned: Vec<Point>, measured: &[Point]) -> Vec<Point> {
    let same =
        |one: &Point, other: &Point| (&one.model, one.batch, one.size) == (&other.model, other.batch, other.size);
    let known = |point: &Point| measured.iter().find(|other| same(point, other)).and_then(|other| other.measured);
    planned.into_iter().map(|point| Point { measured: known(&point), ..point }).collect()
}

fn finding(results: &Results) -> Result<Finding> {
    let mut measured = Vec::new();
    for (_, value) in results.beginning("measured-") {
        measured.extend(Point::all(value)?);
    }
    let planned = |name: &str| -> Result<Vec<Point>> { Ok(joined(Point::all(results.of(name)?)?, &measured)) };
    let batches = planned("planned-batches")?;
    let tables = [
        ("By batch, 224 pixels, in MiB", &batches),
        ("By image size, batch 1, in MiB", &planned("planned-sizes")?),
        ("By image size, batch 8, in MiB", &planned("planned-batch-8")?),
    ];
    let all = || tables.iter().flat_map(|(_, points)| points.iter());
    let ratios: Vec<f64> = all().filter_map(|point| Some(point.published? / point.measured?)).collect();
    let (least, most) = ends(&ratios);
    let of_plan: Vec<f64> = all().filter_map(|point| Some(point.measured? / point.plan)).collect();
    let (plan_least, plan_most) = ends(&of_plan);
    let of_twice: Vec<f64> = all().filter_map(|point| Some(point.twice / point.published?)).collect();
    let (twice_least, twice_most) = ends(&of_twice);
    let claims = vec![claim(
        format!("the tables' {} numbers that were measured here", ratios.len()),
        "1.00",
        format!("published / measured from {least:.2} to {most:.2}"),
        Holds::if_so(
            least > 1.0 - NEAR && most < 1.0 + NEAR,
            format!(
                "the tables are a formula that counts every map twice (counted like that, the shapes give {twice_least:.2} to \
                 {twice_most:.2} of them): real steps need {least:.1} to {most:.1} times less"
            ),
        ),
    )];
    let steps: Vec<String> = [1, 3, 5, 10, 30, 50].map(|batch: u64| batch.to_string()).into();
    let of = |model: &str, value: &dyn Fn(&Point) -> Option<f64>| -> Vec<Option<f64>> {
        batches.iter().filter(|point| point.model == model).map(value).collect()
    };
    let mut drawn = Vec::new();
    for model in ["resnet18", "resnet34", "resnet50"] {
        let published = of(model, &|point| point.published);
        let measured = of(model, &|point| point.measured);
        for (by, values) in [("published", published), ("measured", measured)] {
            // A quick run measures some of the networks alone.
            if values.iter().any(Option::is_some) {
                drawn.push(line(format!("{model}, {by}"), &values));
            }
        }
    }
    let title = "Memory of a training step, 224 pixels";
    Ok(Finding {
        claims,
        number: format!("real peaks are {least:.1} to {most:.1} times lower than published"),
        figures: vec![lines("batches", &titles(title, "batch", "MiB"), Scale::Fitting, &steps, &drawn)?],
        tables: tables
            .iter()
            .map(|(title, points)| table(*title, &HEADS, points.iter().map(Point::cells).collect()))
            .collect(),
        notes: vec![format!(
            "Measured: tensors and workspace at the peak of a run of two steps, SGD with momentum, 1000 classes. They are {plan_least:.2} \
             to {plan_most:.2} of the plan. A `-` was not measured: the run was not asked for, or the machine has too little memory. The \
             third published table is in GB, taken as 1024 MiB. What else was tried to find the formula is in \
             [decision 9](../decisions/0009-what-the-seed-counts.md)."
        )],
    })
}

fn ends(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}
