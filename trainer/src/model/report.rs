//! `trainer plan`: the bytes of a training step in words or as JSON, from shapes alone.
use std::collections::BTreeMap;
use std::path::Path;

use alloc_timeline::Timeline;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::name::ModelName;
use super::needs::{by_layer, total};
use super::objective::Objective;
use super::passes::{input_bytes_of, saved_by_pass};
use super::peak::measured::Comparison;
use super::peak::{self, Step};
use super::plan::{F32, label_bytes};
use crate::figures::table;
use crate::optimizer::Optimizer;
use crate::precision::Precision;
use crate::reinforcement::{PLACE_BYTES, Replay};

/// The text of `trainer plan`: a table, or one JSON object of bytes.
pub fn report(
    model: ModelName,
    batch: u64,
    size: u64,
    classes: u64,
    optimizer: Optimizer,
    as_json: bool,
) -> Result<String> {
    let (stages, input) = (model.stages(classes), model.input_of(size));
    let parameters: u64 = stages.iter().map(|stage| stage.op.parameters()).sum();
    let mut layers = by_layer(&stages, batch, input, optimizer)?;
    for stage in model.frozen_stages().into_iter().filter(|stage| stage.op.parameters() > 0) {
        layers.entry(stage.name).or_default().buffers += stage.op.parameters() * F32;
    }
    let all = total(&layers);
    let labels = label_bytes(&stages, batch, input)?;
    let passes = model.passes(size, classes);
    let inputs = input_bytes_of(&passes, batch);
    let step = Step::of(model, batch, size, classes, optimizer, None)?;
    let peak::Instant { phase, layer, bytes: peak_bytes } = step.peak();
    let peak_layer = step.layer(layer);
    if as_json {
        let saved: BTreeMap<&String, u64> =
            layers.iter().filter(|(_, needs)| needs.saved > 0).map(|(layer, needs)| (layer, needs.saved)).collect();
        let peak_by_category: BTreeMap<&str, u64> =
            step.by_category().into_iter().map(|(category, bytes)| (category.name(), bytes)).collect();
        let peak = json!({
            "bytes": peak_bytes, "phase": phase.name(), "layer": peak_layer, "by_category": peak_by_category,
        });
        let mut object = json!({
            "model": model.as_str(), "batch": batch, size_name(model): size, "classes": classes,
            "parameters": parameters, "parameter_bytes": all.parameters, "gradient_bytes": all.gradients,
            "buffer_bytes": all.buffers, "input_bytes": inputs + labels, "label_bytes": labels,
            "optimizer": optimizer.name.as_str(), "optimizer_state_bytes": all.optimizer_state,
            "saved_bytes": all.saved, "saved_for_backward": saved, "by_layer": layers, "peak": peak,
        });
        if model.objective() == Objective::QLearning {
            object["replay_bytes"] = json!(Replay::PLACES * PLACE_BYTES);
        }
        if passes.len() > 1 {
            object["passes"] = json!(saved_by_pass(&passes, batch)?);
        }
        return Ok(object.to_string());
    }
    let mut text = format!("{model}, batch {batch}, {}, {classes} classes\n\n", model.input_text(size));
    let mut line = |name: &str, bytes: u64| text.push_str(&format!("{:>14} B  {name}\n", bytes));
    line("parameters; as much again for gradients", all.parameters);
    line(&format!("state of the optimizer, {optimizer}"), all.optimizer_state);
    line("buffers (batch norm's running statistics, networks that do not learn)", all.buffers);
    line("input (images or tokens, and labels)", inputs + labels);
    if model.objective() == Objective::QLearning {
        line(&format!("replay buffer of {} places, input as well", Replay::PLACES), Replay::PLACES * PLACE_BYTES);
    }
    line("saved for backward", all.saved);
    if passes.len() > 1 {
        for pass in saved_by_pass(&passes, batch)? {
            line(&format!("  the same at the end of {}/forward", pass.name), pass.saved_bytes);
        }
    }
    let place = format!("peak of a step without workspace, in {peak_layer}, {}", phase.name());
    line(&place, peak_bytes);
    let rows = layers.iter().map(|(layer, needs)| {
        let numbers = [needs.parameters, needs.gradients, needs.optimizer_state, needs.saved];
        [layer.clone()].into_iter().chain(numbers.map(|bytes| bytes.to_string())).collect()
    });
    text.push_str("\nby layer, in bytes\n");
    text.push_str(&table(&["layer", ">parameters", ">gradients", ">optimizer state", ">saved for backward"], rows));
    Ok(text)
}

/// What a run may have done that a plain step does not: the fact that its timeline has then, and words for it.
const NOT_PLANNED: [(&str, &str); 7] = [
    ("train_only", "changed a part of the network alone"),
    ("accumulate", "took its batches in parts"),
    ("activation", "had other activations"),
    ("checkpoint", "computed some maps twice"),
    ("chained", "dropped each map as soon as the next one was there"),
    ("in_place", "kept the maps that activations overwrite in a plain step"),
    ("layout", "had another memory layout"),
];

/// The text of `trainer plan --measured`: the predicted peak beside that of the run of the same step that the timeline at
/// `path` tells of.
///
/// # Errors
/// When it cannot be read, or tells of another run.
pub fn beside(
    model: ModelName,
    batch: u64,
    size: u64,
    classes: u64,
    optimizer: Optimizer,
    path: &Path,
    as_json: bool,
) -> Result<String> {
    let timeline = alloc_timeline::load(path)?;
    let mut facts = vec![
        ("mode", "train".into()),
        ("model", model.as_str().into()),
        ("batch", batch.into()),
        (size_name(model), size.into()),
        ("classes", classes.into()),
        ("optimizer", optimizer.name.as_str().into()),
    ];
    facts.extend(optimizer.momentum().map(|momentum| ("momentum", momentum.into())));
    // Timelines from before there was another precision do not name it.
    if timeline.run.contains_key("precision") {
        facts.push(("precision", Precision::Fp32.as_str().into()));
    }
    is_of(&timeline, &facts, path)?;
    for (fact, what) in NOT_PLANNED {
        ensure!(
            !timeline.run.contains_key(fact),
            "--measured {}: that run {what}, which the plan of a plain step does not have; give the timeline of a run without it",
            path.display()
        );
    }
    let replay = timeline.run.get("replay").and_then(Value::as_u64);
    let step = Step::of(model, batch, size, classes, optimizer, replay)?;
    let comparison = Comparison::new(&step, &timeline);
    Ok(if as_json { serde_json::to_string(&comparison)? } else { comparison.text() })
}

/// What the size of a model's input is called.
pub(super) fn size_name(model: ModelName) -> &'static str {
    if model.reads_text() { "length" } else { "image_size" }
}

/// Checks that `timeline` is of a run with these facts, and of a step from which on the optimizer's state is there.
fn is_of(timeline: &Timeline, facts: &[(&str, Value)], path: &Path) -> Result<()> {
    let shown = path.display();
    for (fact, asked) in facts {
        let found = timeline.run.get(*fact).unwrap_or(&Value::Null);
        let next = match *fact {
            // What is planned is a training step.
            "mode" => "give the timeline of a training run".to_owned(),
            fact => format!("give --{} as that run had it, or another timeline", fact.replace('_', "-")),
        };
        ensure!(found == asked, "--measured {shown}: its {fact} is {found}, and {asked} was asked for; {next}");
    }
    ensure!(
        timeline.steps.len() > 1,
        "--measured {shown}: it has {} step, and the optimizer's state is there from the second on; record with --steps 2",
        timeline.steps.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimizer::OptimizerName;

    /// The JSON that the end-to-end test reads.
    #[test]
    fn json_of_the_plan() {
        let text = report(ModelName::MobileNetV1, 2, 64, 1000, Optimizer::default(), true).expect("64 fits");
        let plan: serde_json::Value = serde_json::from_str(&text).expect("one JSON object");
        assert_eq!(plan["parameters"], 4_231_976);
        assert_eq!(plan["parameter_bytes"], 16_927_904);
        assert_eq!(plan["buffer_bytes"], 10_944 * 2 * 4, "running mean and variance");
        assert_eq!(plan["input_bytes"], 2 * 3 * 64 * 64 * 4 + 2 * 8);
        assert_eq!(plan["optimizer_state_bytes"], 16_927_904, "a momentum of each parameter");
        assert_eq!(plan["saved_for_backward"]["model.0.0"], 2 * 32 * 32 * 32 * 4);
        assert_eq!(plan["gradient_bytes"], 16_927_904);
        let layer = &plan["by_layer"]["model.0.0"];
        assert_eq!((&layer["saved"], &layer["gradients"]), (&262_144.into(), &(32 * 3 * 3 * 3 * 4).into()));
    }

    /// What a user reads: the same numbers, one a line.
    #[test]
    fn text_of_the_plan() {
        let adam = Optimizer { name: OptimizerName::Adam, ..Optimizer::default() };
        let text = report(ModelName::ResNet18, 2, 64, 1000, adam, false).expect("64 fits");
        assert!(
            text.starts_with("resnet18, batch 2, images of 3x64x64, 1000 classes\n\n      46758048 B  parameters;"),
            "{text}"
        );
        assert!(text.contains("\n      93516096 B  state of the optimizer, adam\n"), "2 x 46758048: {text}");
        let conv1 = text.lines().find(|line| line.starts_with("conv1 ")).expect("a row");
        let cells: Vec<&str> = conv1.split_whitespace().collect();
        assert_eq!(cells[1..], ["37632", "37632", "75264", "524288"], "64 x 3 x 7 x 7 x 4, and 2 x 64 x 32 x 32 x 4");
    }
}
