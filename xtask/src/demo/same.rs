//! Two recordings of the same steps beside each other: requested bytes by category at the last mark of each name, and by layer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use serde_json::Value;

/// The marks of both programs, in the order of a step.
const MARKS: [&str; 3] = ["end of forward", "end of backward", "end of step"];
/// What tensors are for. The rest of a process (Python itself, libraries) is no part of the comparison.
const CATEGORIES: [&str; 6] = ["parameter", "buffer", "gradient", "optimizer_state", "activation", "input"];
/// The layer that the trainer gives to the loss.
const LOSS: &str = "loss";
/// Why a category differs, where it may.
const REASONS: [(&str, &str); 3] = [
    ("buffer", "PyTorch's batch norm counts its batches, 8 bytes in each of 20; the trainer's has no counter"),
    (
        "gradient",
        "the script keeps its gradients until the next zero_grad, the trainer lets them go at the end of its step",
    ),
    ("activation", "the script still holds the loss, 4 bytes, in a variable"),
];

/// Requested bytes by category and layer.
type Bytes = BTreeMap<(String, String), u64>;

/// A timeline's tables of owners, by mark.
pub struct Tables(BTreeMap<&'static str, Bytes>);

impl Tables {
    /// Reads the timeline at `path`.
    ///
    /// # Errors
    /// When it cannot be read, or has no table at one of the marks.
    pub fn read(path: &Path) -> Result<Tables> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let timeline: Value =
            serde_json::from_str(&text).with_context(|| format!("{} is no timeline", path.display()))?;
        let of = |name| {
            Ok((name, at_last(&timeline, name).with_context(|| format!("{}: no table at `{name}`", path.display()))?))
        };
        Ok(Tables(MARKS.into_iter().map(of).collect::<Result<_>>()?))
    }

    fn category(&self, mark: &str, category: &str) -> u64 {
        let rows = self.0.get(mark).into_iter().flatten();
        rows.filter(|((of, _), _)| of == category).map(|(_, bytes)| bytes).sum()
    }

    fn layer(&self, mark: &str, layer: &str) -> u64 {
        let rows = self.0.get(mark).into_iter().flatten();
        rows.filter(|((of, at), _)| of == "activation" && at == layer).map(|(_, bytes)| bytes).sum()
    }

    fn layers<'a>(&'a self, mark: &str) -> impl Iterator<Item = &'a str> {
        let rows = self.0.get(mark).into_iter().flatten();
        rows.filter(|((of, _), bytes)| of == "activation" && **bytes > 0).map(|((_, layer), _)| layer.as_str())
    }
}

/// The table at the last mark of this name.
fn at_last(timeline: &Value, name: &str) -> Option<Bytes> {
    let mark = timeline["marks"].as_array()?.iter().rfind(|mark| mark["name"] == name)?;
    let mut bytes = Bytes::new();
    for row in mark["snapshot"]["rows"].as_array()? {
        let layer = timeline["scopes"][row["scope"].as_u64()? as usize]["layer"].as_str()?;
        let place = (row["category"].as_str()?.to_owned(), layer.to_owned());
        *bytes.entry(place).or_default() += row["requested_bytes"].as_u64()?;
    }
    Some(bytes)
}

/// What both say, and why they differ where they do.
pub fn text(python: &Tables, trainer: &Tables) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(["at the", "bytes of", "Python", "trainer", "difference"]);
    let mut reasons = BTreeSet::new();
    for mark in MARKS {
        for category in CATEGORIES {
            let [ours, theirs] = [trainer, python].map(|tables| tables.category(mark, category));
            let difference = if ours == theirs {
                "same".to_owned()
            } else {
                reasons.extend(REASONS.iter().filter(|(of, _)| *of == category));
                format!("{:+}", theirs.cast_signed() - ours.cast_signed())
            };
            table.add_row([mark.to_owned(), category.to_owned(), theirs.to_string(), ours.to_string(), difference]);
        }
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = format!("{table}\n");
    for (category, reason) in reasons {
        text.push_str(&format!("{category}: {reason}\n"));
    }
    text.push_str(&by_layer(python, trainer));
    text
}

/// How many layers hold the same activations at the end of the forward pass, and which do not.
fn by_layer(python: &Tables, trainer: &Tables) -> String {
    let mark = MARKS[0];
    let layers: BTreeSet<&str> = python.layers(mark).chain(trainer.layers(mark)).collect();
    let differ: Vec<String> = layers
        .iter()
        .map(|layer| (layer, python.layer(mark, layer), trainer.layer(mark, layer)))
        .filter(|(_, theirs, ours)| theirs != ours)
        .map(|(layer, theirs, ours)| {
            let name = if layer.is_empty() { "no layer" } else { layer };
            format!("{name}: Python {theirs}, trainer {ours}")
        })
        .collect();
    let same = layers.len() - differ.len();
    let mut text = format!("activations at the {mark}, by layer: {same} of {} layers hold the same", layers.len());
    if !differ.is_empty() {
        text.push_str(&format!("; not the same: {}", differ.join("; ")));
    }
    let of_loss = |tables: &Tables| [tables.layer(mark, ""), tables.layer(mark, LOSS)];
    let ([none, loss], [trainers_none, trainers_loss]) = (of_loss(python), of_loss(trainer));
    if none != trainers_none && [none, loss] == [trainers_loss, trainers_none] {
        text.push_str(" (the loss: the trainer calls it a layer, PyTorch's is a function)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A layer with activations, and gradients that are there at the end of a step or not.
    fn tables(layer: &str, gradient: u64) -> Tables {
        let rows = json!([
            { "scope": 0, "category": "activation", "requested_bytes": 40 },
            { "scope": 0, "category": "gradient", "requested_bytes": gradient },
        ]);
        let marks: Vec<Value> =
            MARKS.iter().map(|name| json!({ "name": name, "snapshot": { "rows": rows } })).collect();
        let timeline = json!({ "scopes": [{ "layer": layer }], "marks": marks });
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.json");
        fs::write(&path, timeline.to_string()).expect("written");
        Tables::read(&path).expect("three tables")
    }

    #[test]
    fn differences_are_told_with_their_reason() {
        let same = text(&tables("conv1", 8), &tables("conv1", 8));
        assert!(same.ends_with("1 of 1 layers hold the same") && !same.contains("zero_grad"), "{same}");
        let other = text(&tables("conv1", 8), &tables("loss", 0));
        assert!(other.contains("+8") && other.contains("gradient: the script keeps"), "{other}");
        assert!(
            other.contains("0 of 2 layers hold the same; not the same: conv1: Python 40, trainer 0; loss"),
            "{other}"
        );
    }

    #[test]
    fn a_timeline_without_the_marks_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.json");
        fs::write(&path, r#"{"scopes": [], "marks": []}"#).expect("written");
        let error = Tables::read(&path).err().expect("no marks").to_string();
        assert!(error.ends_with("a.json: no table at `end of forward`"), "{error}");
    }
}
