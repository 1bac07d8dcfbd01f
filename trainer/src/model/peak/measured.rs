//! The predicted peak beside that of a run: where they differ, by category, layer and operator.
use std::collections::{BTreeMap, BTreeSet};

use alloc_timeline::{Category, Row, Scope, Timeline};
use serde::Serialize;

use super::step::Step;
use crate::figures::table;

/// Rows that are shown one by one; the others are summed up.
const SHOWN: usize = 10;
/// Categories that the walk knows. What a run has of the others is difference.
const MODELLED: [Category; 6] = [
    Category::Parameter,
    Category::Buffer,
    Category::Gradient,
    Category::Activation,
    Category::OptimizerState,
    Category::Input,
];

/// The two peaks, in requested bytes.
#[derive(Debug, Serialize)]
pub struct Comparison {
    predicted: Place,
    measured: Place,
    /// What the plan says of the instant at which the run had its peak, where that is known.
    predicted_at_that_instant: Option<u64>,
    by_category: Vec<Difference>,
    /// By phase, layer and category, the largest difference first; the last row is the sum of all others. Predicted is what
    /// the plan says of the instant of the measured peak, where that is known, or else of its own peak.
    by_operator: Vec<Difference>,
}

/// Where a peak is.
#[derive(Debug, Serialize)]
struct Place {
    bytes: u64,
    phase: Option<String>,
    layer: Option<String>,
    /// The operator that was running.
    operator: Option<String>,
}

/// A line of the comparison. `measured - predicted` is what the plan does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Difference {
    category: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    phase: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    layer: String,
    /// Who allocated what was measured, the largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operators: Vec<String>,
    predicted: u64,
    measured: u64,
}

impl Difference {
    fn bytes(&self) -> i64 {
        self.measured as i64 - self.predicted as i64
    }
}

impl Comparison {
    /// `step` beside the peak of `timeline`, a run of the same step.
    pub fn new(step: &Step, timeline: &Timeline) -> Comparison {
        let rows: Vec<(&Scope, &Row)> =
            timeline.peak.rows.iter().map(|row| (&timeline.scopes[row.scope as usize], row)).collect();
        let running = running(&rows);
        let that_instant = running.and_then(|scope| step.instant_of(&scope.phase, &scope.layer));
        let peak = step.peak();
        let predicted = Place {
            bytes: peak.bytes,
            phase: Some(peak.phase.name().to_owned()),
            layer: Some(step.layer(peak.layer).to_owned()),
            operator: None,
        };
        let measured = Place {
            bytes: timeline.peak.requested_bytes,
            phase: running.map(|scope| scope.phase.clone()),
            layer: running.map(|scope| scope.layer.clone()),
            operator: running.map(|scope| scope.op.clone()),
        };
        Comparison {
            predicted,
            measured,
            predicted_at_that_instant: that_instant.map(|(_, instant)| instant.bytes),
            by_category: by_category(step, &rows),
            by_operator: by_operator(step, that_instant.map_or(step.peak, |(number, _)| number), &rows),
        }
    }

    /// In words and two tables.
    pub fn text(&self) -> String {
        let Comparison { predicted, measured, .. } = self;
        let place = |place: &Place| match (&place.operator, &place.phase, &place.layer) {
            (Some(operator), Some(phase), Some(layer)) if layer.is_empty() => format!("in {operator}, {phase}"),
            (Some(operator), Some(phase), Some(layer)) => format!("in {operator} of {layer}, {phase}"),
            (None, Some(phase), Some(layer)) => format!("in {layer}, {phase}"),
            _ => "where no operator has workspace, so which one ran is not known".to_owned(),
        };
        let mut text = format!(
            "peak of a step, in requested bytes\n{:>14} B  predicted, {}\n{:>14} B  measured, {}",
            predicted.bytes,
            place(predicted),
            measured.bytes,
            place(measured)
        );
        if let Some(bytes) = self.predicted_at_that_instant {
            text.push_str(&format!("\n{bytes:>14} B  predicted for the instant of the measured peak"));
        }
        let cells = |row: &Difference| {
            [row.predicted.to_string(), row.measured.to_string(), format!("{:+}", row.bytes())].into_iter()
        };
        let heads = ["category", ">predicted", ">measured", ">difference"];
        let by_category =
            self.by_category.iter().map(|row| [row.category.clone()].into_iter().chain(cells(row)).collect());
        text.push_str(&format!("\n\neach at its own peak\n{}", table(&heads, by_category)));
        let heads = ["category", "phase", "layer", "operator", ">predicted", ">measured", ">difference"];
        let by_operator = self.by_operator.iter().map(|row| {
            let names = [row.category.clone(), row.phase.clone(), row.layer.clone(), row.operators.join(", ")];
            names.into_iter().chain(cells(row)).collect()
        });
        text.push_str(&format!("\n\nwhat makes the difference at the measured peak\n{}", table(&heads, by_operator)));
        text.push_str(
            "\nnot modelled: workspace inside of operators, small blocks (metadata, other), what was there before main (runtime)",
        );
        text
    }
}

/// The operator that was running at the peak: it is the one that has workspace then.
fn running<'a>(rows: &[(&'a Scope, &Row)]) -> Option<&'a Scope> {
    let workspace = rows.iter().filter(|(scope, row)| row.category == Category::Workspace && !scope.op.is_empty());
    workspace.max_by_key(|(_, row)| row.requested_bytes).map(|(scope, _)| *scope)
}

fn by_category(step: &Step, rows: &[(&Scope, &Row)]) -> Vec<Difference> {
    let predicted = step.by_category();
    let difference = |category: Category| Difference {
        category: category.name().to_owned(),
        predicted: predicted.get(&category).copied().unwrap_or(0),
        measured: rows.iter().filter(|(_, row)| row.category == category).map(|(_, row)| row.requested_bytes).sum(),
        ..Difference::default()
    };
    let all = Category::ALL.into_iter().map(difference);
    all.filter(|row| row.predicted > 0 || row.measured > 0).collect()
}

/// Category, phase and layer; of what is not modelled and no workspace, only the category.
type Key = (Category, String, String);

fn by_operator(step: &Step, instant: usize, rows: &[(&Scope, &Row)]) -> Vec<Difference> {
    let mut predicted: BTreeMap<Key, u64> = BTreeMap::new();
    for (owner, bytes) in step.live.at(instant) {
        *predicted
            .entry((owner.category, owner.phase.name().to_owned(), step.layer(owner.layer).to_owned()))
            .or_default() += bytes;
    }
    let mut measured: BTreeMap<Key, BTreeMap<&str, u64>> = BTreeMap::new();
    for (scope, row) in rows.iter().filter(|(_, row)| row.requested_bytes > 0) {
        let is_by_layer = MODELLED.contains(&row.category) || row.category == Category::Workspace;
        let name = |name: &String| if is_by_layer { name.clone() } else { String::new() };
        let operators = measured.entry((row.category, name(&scope.phase), name(&scope.layer))).or_default();
        *operators.entry(if is_by_layer { &scope.op } else { "" }).or_default() += row.requested_bytes;
    }
    let keys: BTreeSet<Key> = predicted.keys().chain(measured.keys()).cloned().collect();
    let mut differences: Vec<Difference> = keys
        .into_iter()
        .map(|key| {
            let mut operators: Vec<(&str, u64)> =
                measured.get(&key).into_iter().flatten().map(|(op, n)| (*op, *n)).collect();
            operators.sort_by_key(|&(_, bytes)| std::cmp::Reverse(bytes));
            Difference {
                predicted: predicted.get(&key).copied().unwrap_or(0),
                measured: operators.iter().map(|(_, bytes)| bytes).sum(),
                operators: operators.iter().map(|(op, _)| *op).filter(|op| !op.is_empty()).map(str::to_owned).collect(),
                category: key.0.name().to_owned(),
                phase: key.1,
                layer: key.2,
            }
        })
        .collect();
    differences.sort_by_key(|row| std::cmp::Reverse(row.bytes().unsigned_abs()));
    let that_differ = differences.iter().filter(|row| row.bytes() != 0).count();
    let others = differences.split_off(that_differ.min(SHOWN));
    if !others.is_empty() {
        let sum = |bytes: fn(&Difference) -> u64| others.iter().map(bytes).sum();
        let (predicted, measured) = (sum(|row| row.predicted), sum(|row| row.measured));
        differences.push(Difference {
            category: "all others".to_owned(),
            predicted,
            measured,
            ..Difference::default()
        });
    }
    differences
}
