//! The tables in words and as JSON.
use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::{Value, json};

use super::line::Line;
use super::point::{ByCategory, Point, Row};
use crate::figures::table;
use crate::optimizer::Optimizer;

const MIB: f64 = 1_048_576.0;

/// A category over the batches of one model and size.
struct Over<'a> {
    point: Point,
    /// `plan` or `measured`.
    by: &'static str,
    category: &'a str,
    line: Line,
}

/// Both tables.
pub(super) fn text(rows: &[Row], optimizer: Optimizer) -> String {
    let is_measured = rows.iter().any(|row| row.measured.is_some());
    let mut heads = vec!["model", ">batch", ">size", ">seed 002", ">maps twice", ">plan's peak", ">twice / plan"];
    if is_measured {
        heads.extend([">measured", ">measured / plan", ">seed 002 / measured", ">process"]);
    }
    let mib = |bytes: u64| format!("{:.2}", bytes as f64 / MIB);
    let ratio = |one: f64, other: u64| format!("{:.2}", one / (other as f64 / MIB));
    let none = || "-".to_owned();
    let cells = rows.iter().map(|row| {
        let Point { model, batch, size, .. } = row.point;
        let mut cells = vec![
            model.to_string(),
            batch.to_string(),
            size.to_string(),
            row.published.map_or_else(none, |mib| format!("{mib:.2}")),
            mib(row.every_map_twice),
            mib(row.plan),
            ratio(row.every_map_twice as f64 / MIB, row.plan),
        ];
        match &row.measured {
            None if is_measured => cells.extend([none(), none(), none(), none()]),
            None => {}
            Some(measured) => cells.extend([
                mib(measured.tensor_bytes),
                ratio(measured.tensor_bytes as f64 / MIB, row.plan),
                row.published.map_or_else(none, |mib| ratio(mib, measured.tensor_bytes)),
                mib(measured.live_bytes),
            ]),
        }
        cells
    });
    let mut text = format!("memory of a training step by {optimizer}, in MiB\n{}\n", table(&heads, cells));
    text.push_str(
        "seed 002: the line through the document's batches at 224 pixels, or its table of sizes\n\
         maps twice: the parameters once for each module that they are in, and what every module leaves, twice\n\
         plan's peak: tensors that are live at once, from shapes, without the workspace inside of operators",
    );
    if is_measured {
        text.push_str(
            "\nmeasured: tensors and workspace at the peak of a run, requested; process: all that was live then, also \
             before main",
        );
    }
    let lines = over_batches(rows);
    if !lines.is_empty() {
        let number = |value: f64| format!("{value:.0}");
        let cells = lines.iter().map(|over| {
            let Line { constant, slope, residual } = over.line;
            let Point { model, size, .. } = over.point;
            let names = [model.to_string(), size.to_string(), over.by.to_owned(), over.category.to_owned()];
            names.into_iter().chain([constant, slope, residual].map(number)).collect()
        });
        let heads = ["model", ">size", "by", "category", ">any batch", ">each image", ">residual"];
        text.push_str(&format!(
            "\n\ncategories over the batch: least-squares line, in bytes\n{}\nactivation, input, state: at the end of the \
             forward pass; gradient: of the backward pass; workspace: at the peak",
            table(&heads, cells)
        ));
    }
    text
}

/// The lines of every model and size that has several batches.
fn over_batches(rows: &[Row]) -> Vec<Over<'_>> {
    let mut lines = Vec::new();
    for group in rows.chunk_by(|one, next| one.point.model == next.point.model && one.point.size == next.point.size) {
        let mut add = |by: &'static str, of: &dyn Fn(&Row) -> Option<ByCategory>| {
            let known: Vec<(u64, ByCategory)> =
                group.iter().filter_map(|row| Some((row.point.batch, of(row)?))).collect();
            let categories: BTreeSet<&'static str> = known.iter().flat_map(|(_, by)| by.keys().copied()).collect();
            for category in categories {
                let points: Vec<(u64, u64)> = known.iter().map(|(batch, by)| (*batch, by[category])).collect();
                if points.iter().all(|&(_, bytes)| bytes == 0) {
                    continue;
                }
                lines.extend(Line::through(&points).map(|line| Over { point: group[0].point, by, category, line }));
            }
        };
        add("plan", &|row| Some(row.by_category.clone()));
        add("measured", &|row| row.measured.as_ref().map(|measured| measured.by_category.clone()));
    }
    lines
}

/// One object: the rows, and the lines.
pub(super) fn json(rows: &[Row], optimizer: Optimizer) -> Result<String> {
    let all: Vec<Value> = rows
        .iter()
        .map(|row| {
            let Point { model, batch, size, .. } = row.point;
            json!({
                "model": model.as_str(), "batch": batch, "size": size, "published_mib": row.published,
                "every_map_twice_bytes": row.every_map_twice, "plan_peak_bytes": row.plan,
                "by_category": row.by_category, "measured": row.measured,
            })
        })
        .collect();
    let lines: Vec<Value> = over_batches(rows)
        .iter()
        .map(|over| {
            let Point { model, size, .. } = over.point;
            json!({
                "model": model.as_str(), "size": size, "by": over.by, "category": over.category,
                "constant_bytes": over.line.constant, "bytes_an_image": over.line.slope,
                "residual_bytes": over.line.residual,
            })
        })
        .collect();
    let (name, momentum) = (optimizer.name.as_str(), optimizer.momentum());
    Ok(json!({ "optimizer": name, "momentum": momentum, "rows": all, "lines": lines }).to_string())
}
