//! `trainer plan --rules`: what each layer keeps for its backward pass and why, in words or as JSON.
use std::fmt::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::name::ModelName;
use super::plan::{Counted, Kept, Rule, kept_by_rule};
use super::report::size_name;
use crate::figures::table;

/// A rule, and what a network keeps by it.
struct Used {
    rule: &'static Rule,
    /// How often.
    times: usize,
    /// Bytes that are counted here: those of a storage with the first operator that keeps it.
    counted_bytes: u64,
}

/// The text of `trainer plan --rules`: tables, or one JSON object of bytes.
///
/// # Errors
/// When the network does not take inputs of this size.
pub fn rules(model: ModelName, batch: u64, size: u64, classes: u64, as_json: bool) -> Result<String> {
    let kept = kept_by_rule(&model.stages(classes), batch, model.input_of(size))?;
    let used = used(&kept);
    let saved: u64 = kept.iter().map(Kept::counted_bytes).sum();
    if as_json {
        let kept: Vec<Value> = kept.iter().map(json_of).collect();
        let used: Vec<Value> = used.iter().map(json_of_rule).collect();
        return Ok(json!({
            "model": model.as_str(), "batch": batch, size_name(model): size, "classes": classes,
            "saved_bytes": saved, "kept": kept, "rules": used,
        })
        .to_string());
    }
    let input = model.input_text(size);
    let mut text = format!("{model}, batch {batch}, {input}, {classes} classes: {saved} B are saved for backward");
    if model.passes(size, classes).len() > 1 {
        text.push_str(" at the end of the pass that keeps most");
    }
    text.push_str("\n\n");
    let rows = kept.iter().map(|kept| {
        let counted = match &kept.counted {
            Counted::Here => "here".to_owned(),
            Counted::With(layer, rule) => format!("in {layer}, {}", rule.name()),
            Counted::AsInput => "as input".to_owned(),
        };
        let owner = kept.allocated_by.clone().unwrap_or_else(|| "data".to_owned());
        vec![kept.layer.clone(), kept.rule.name(), kept.bytes.to_string(), owner, counted]
    });
    text.push_str(&table(&["layer", "operator: what it keeps", ">bytes", "allocated by", "counted"], rows));
    text.push_str(
        "\n\nthe rules: how often, bytes that are counted under it; what for; where it is written in PyTorch 2.11\n",
    );
    for Used { rule, times, counted_bytes } in used {
        let node = match rule.node {
            Some(node) => format!("{} saves `{}`; ", node.name, node.tensor),
            None => String::new(),
        };
        let (name, sources) = (rule.name(), rule.sources.join("; "));
        write!(text, "\n{name}, {times} x, {counted_bytes} B\n    {}\n    {node}{sources}", rule.sentence)?;
    }
    Ok(text)
}

/// The rules by which all this is kept, in the order in which they are first used.
fn used(kept: &[Kept]) -> Vec<Used> {
    let mut all: Vec<Used> = Vec::new();
    for kept in kept {
        let bytes = kept.counted_bytes();
        match all.iter_mut().find(|used| used.rule == kept.rule) {
            Some(used) => {
                used.times += 1;
                used.counted_bytes += bytes;
            }
            None => all.push(Used { rule: kept.rule, times: 1, counted_bytes: bytes }),
        }
    }
    all
}

fn json_of(kept: &Kept) -> Value {
    let counted_with = match &kept.counted {
        Counted::With(layer, rule) => json!({ "layer": layer, "rule": rule.name() }),
        Counted::Here | Counted::AsInput => Value::Null,
    };
    json!({
        "layer": kept.layer, "rule": kept.rule.name(), "operator": kept.rule.operator, "bytes": kept.bytes,
        "counted_bytes": kept.counted_bytes(), "allocated_by": kept.allocated_by, "counted_with": counted_with,
    })
}

fn json_of_rule(used: &Used) -> Value {
    let Rule { operator, keeps, sentence, node, sources } = used.rule;
    json!({
        "rule": used.rule.name(), "operator": operator, "keeps": keeps, "sentence": sentence, "node": node,
        "sources": sources, "times": used.times, "counted_bytes": used.counted_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two images of 64 x 64 in the stem: 64 maps of 32 x 32 each, and after the pool of 16 x 16.
    #[test]
    fn a_storage_that_several_keep_is_counted_with_the_first() {
        let text = rules(ModelName::ResNet18, 2, 64, 1000, false).expect("64 fits");
        let row = |layer: &str, rule: &str| -> Vec<String> {
            let found = text.lines().find(|line| line.starts_with(&format!("{layer} ")) && line.contains(rule));
            let cells = found.unwrap_or_else(|| panic!("{layer}, {rule}: {text}")).split("  ");
            cells.map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
        };
        let (map, pooled) = ((2 * 64 * 32 * 32 * 4).to_string(), (2 * 64 * 16 * 16 * 4).to_string());
        let images = (2 * 3 * 64 * 64 * 4).to_string();
        assert_eq!(row("conv1", "input"), ["conv1", "convolution: input", &images, "data", "as input"]);
        assert_eq!(row("bn1", "input"), ["bn1", "batch norm: input", &map, "conv1", "here"]);
        assert_eq!(row("relu", "result"), ["relu", "relu: result", &map, "bn1", "here"]);
        assert_eq!(row("maxpool", "input"), ["maxpool", "max pool: input", &map, "bn1", "in relu, relu: result"]);
        assert_eq!(row("layer1.0.conv1", "input")[1..4], ["convolution: input", &pooled, "maxpool"]);
        assert!(
            text.contains(
                "\nmax pool: indices, 1 x, 262144 B\n    Where in its input each value of the result was, int64: the \
                 gradient goes there.\n    MaxPool2DWithIndicesBackward0 saves `result1`; tools/autograd/derivatives.yaml: \
                 max_pool2d_with_indices\n"
            ),
            "2 x 64 x 16 x 16 x 8 B: {text}"
        );
    }

    #[test]
    fn the_same_as_json() {
        let text = rules(ModelName::ResNet18, 2, 64, 1000, true).expect("64 fits");
        let value: Value = serde_json::from_str(&text).expect("one JSON object");
        let counted = |list: &str| -> u64 {
            value[list].as_array().expect("rows").iter().filter_map(|row| row["counted_bytes"].as_u64()).sum()
        };
        assert_eq!(
            (counted("kept"), counted("rules")),
            (value["saved_bytes"].as_u64().expect("bytes"), counted("kept"))
        );
        let pool = &value["kept"].as_array().expect("rows").iter().find(|row| row["rule"] == "max pool: input");
        let with = &pool.expect("a row")["counted_with"];
        assert_eq!(*with, json!({ "layer": "relu", "rule": "relu: result" }));
    }
}
