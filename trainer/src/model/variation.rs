//! `trainer plan --train-only`: what a step needs that changes a part of the network, beside the step that changes all of it;
//! layer by layer which saved bytes go, which stay, and who holds them.
use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use super::name::ModelName;
use super::needs::{by_layer, total};
use super::peak::Step;
use super::plan::{kept_by_frozen_convolutions, kept_by_rule, saved_for_backward};
use super::report::size_name;
use super::stage::Stage;
use super::train_only::TrainOnly;
use crate::figures::table;
use crate::optimizer::Optimizer;

/// Of a part that each step draws anew, so many steps are looked at.
const STEPS: u64 = 100;

/// The step to plan.
#[derive(Clone, Copy, Debug)]
pub struct Varied {
    /// The network.
    pub model: ModelName,
    /// Images in the step.
    pub batch: u64,
    /// Height and width of the images, in pixels.
    pub size: u64,
    /// Outputs of the last layer.
    pub classes: u64,
    /// Its state is part of the plan.
    pub optimizer: Optimizer,
    /// What the step changes.
    pub only: TrainOnly,
    /// The seed of the run, which decides what is drawn.
    pub seed: u64,
    /// The step's number in the run, counted from 1.
    pub step: u64,
}

/// Bytes of a step.
#[derive(Clone, Copy, Debug, Serialize)]
struct Needs {
    parameters: u64,
    gradients: u64,
    optimizer_state: u64,
    saved: u64,
    /// Most that is live at once, without workspace.
    peak: u64,
}

/// What a layer saves, in bytes.
#[derive(Debug, Serialize)]
struct Layer {
    layer: String,
    /// Whether a stage of this name learns.
    learns: bool,
    /// When all layers learn.
    saved_by_all: u64,
    /// In this step.
    saved: u64,
    /// The layer whose operator holds most of it, and by which rule; none where nothing stays.
    held_by: Option<Holder>,
}

#[derive(Debug, Serialize)]
struct Holder {
    layer: String,
    /// Whether it has parameters, which this step does not change.
    frozen: bool,
    rule: String,
}

/// What the first steps of a run save, in bytes.
#[derive(Clone, Copy, Debug, Serialize)]
struct Drawn {
    steps: u64,
    least: u64,
    mean: u64,
    most: u64,
}

/// The text of `trainer plan --train-only`: tables and why, or one JSON object of bytes.
///
/// # Errors
/// When the network does not take images of this size.
pub fn variation(varied: &Varied, as_json: bool) -> Result<String> {
    let &Varied { model, batch, size, classes, optimizer, only, seed, step } = varied;
    let (whole, input) = (model.stages(classes), model.input_of(size));
    let mut stages = whole.clone();
    only.freeze(&mut stages, seed, step);
    let (all, part) = (needs(varied, &whole)?, needs(varied, &stages)?);
    let learning: Vec<&str> = stages.iter().filter(|stage| stage.learns()).map(|stage| stage.name.as_str()).collect();
    let layers = by_layer_saved(varied, &whole, &stages)?;
    let drawn = matches!(only, TrainOnly::Layers(_)).then(|| drawn(varied, &whole)).transpose()?;
    let held_for_nothing = kept_by_frozen_convolutions(&stages, batch, input)?;
    if as_json {
        let saved = saved_for_backward(&stages, batch, input)?;
        return Ok(json!({
            "model": model.as_str(), "batch": batch, size_name(model): size, "classes": classes,
            "optimizer": optimizer.name.as_str(), "train_only": only.to_string(), "seed": seed, "step": step,
            "learning": learning, "all": all, "part": part, "layers": layers, "saved_for_backward": saved,
            "held_by_frozen_convolutions_alone": held_for_nothing, "drawn": drawn,
        })
        .to_string());
    }
    let mut text = format!("{model}, batch {batch}, {}, {classes} classes", model.input_text(size));
    text.push_str(&match only {
        TrainOnly::Layers(_) => format!("; --train-only {only}, step {step} of seed {seed}\n"),
        _ => format!("; --train-only {only}\n"),
    });
    text.push_str(&format!("{} of {} layers learn: {}\n\n", learning.len(), learnable(&whole), learning.join(", ")));
    let rows = [
        ("parameters", all.parameters, part.parameters),
        ("gradients", all.gradients, part.gradients),
        ("optimizer state", all.optimizer_state, part.optimizer_state),
        ("saved for backward", all.saved, part.saved),
        ("peak of a step without workspace", all.peak, part.peak),
    ];
    let rows = rows.into_iter().map(|(name, all, part)| {
        let share = if all == 0 { String::new() } else { format!("{:.1} %", part as f64 / all as f64 * 100.0) };
        vec![name.to_owned(), all.to_string(), part.to_string(), share]
    });
    text.push_str(&table(&["bytes", ">all", &format!(">{only}"), ">of all"], rows));
    text.push_str("\n\nsaved for backward by layer, in bytes\n");
    let rows = layers.iter().map(|row| {
        let holder = row.held_by.as_ref().map_or_else(
            || "nobody: it goes".to_owned(),
            |by| format!("{}{}: {}", by.layer, if by.frozen { " (frozen)" } else { "" }, by.rule),
        );
        let learns = if row.learns { "yes" } else { "" };
        vec![row.layer.clone(), learns.to_owned(), row.saved_by_all.to_string(), row.saved.to_string(), holder]
    });
    let heads = ["layer", "learns", ">all", &format!(">{only}"), "most of it is held by"];
    text.push_str(&table(&heads, rows));
    text.push_str(&format!("\n\n{}", why(&stages, [all, part], held_for_nothing, only, drawn)));
    Ok(text)
}

/// What a step needs whose frozen stages are these. The optimizer has a state for all that was changed up to this step.
fn needs(varied: &Varied, stages: &[Stage]) -> Result<Needs> {
    let &Varied { model, batch, size, optimizer, only, seed, step, .. } = varied;
    let input = model.input_of(size);
    let here = total(&by_layer(stages, batch, input, optimizer)?);
    let mut touched = stages.to_vec();
    if stages.iter().any(|stage| stage.frozen) {
        only.freeze_untouched(&mut touched, seed, step);
    }
    let optimizer_state = total(&by_layer(&touched, batch, input, optimizer)?).optimizer_state;
    // The walk has the state of what learns here; the rest is there at every instant as well.
    let peak = Step::new(stages, batch, input, optimizer)?.peak().bytes + optimizer_state - here.optimizer_state;
    Ok(Needs { parameters: here.parameters, gradients: here.gradients, optimizer_state, saved: here.saved, peak })
}

/// The layers that save something when all learn, in the order of the network.
fn by_layer_saved(varied: &Varied, whole: &[Stage], stages: &[Stage]) -> Result<Vec<Layer>> {
    let (batch, input) = (varied.batch, varied.model.input_of(varied.size));
    let (all, part) = (saved_for_backward(whole, batch, input)?, saved_for_backward(stages, batch, input)?);
    let kept = kept_by_rule(stages, batch, input)?;
    let learns = |layer: &str| stages.iter().any(|stage| stage.name == layer && stage.learns());
    let has_parameters = |layer: &str| whole.iter().any(|stage| stage.name == layer && stage.learns());
    let holder = |layer: &str| {
        let own = kept.iter().filter(|kept| kept.allocated_by.as_deref() == Some(layer));
        // The first of several that are as large.
        let most = own.rev().max_by_key(|kept| kept.counted_bytes())?;
        let frozen = has_parameters(&most.layer) && !learns(&most.layer);
        Some(Holder { layer: most.layer.clone(), frozen, rule: most.rule.name() })
    };
    let mut rest: BTreeMap<String, u64> = all;
    let mut rows = Vec::new();
    let names = stages.iter().map(|stage| stage.name.clone()).chain(rest.keys().cloned().collect::<Vec<_>>());
    for layer in names {
        let Some(saved_by_all) = rest.remove(&layer) else { continue };
        let saved = part.get(&layer).copied().unwrap_or(0);
        rows.push(Layer { learns: learns(&layer), saved_by_all, saved, held_by: holder(&layer), layer });
    }
    Ok(rows)
}

/// What the first steps save.
fn drawn(varied: &Varied, whole: &[Stage]) -> Result<Drawn> {
    let saved = |step| {
        let mut stages = whole.to_vec();
        varied.only.freeze(&mut stages, varied.seed, step);
        Ok(saved_for_backward(&stages, varied.batch, varied.model.input_of(varied.size))?.values().sum())
    };
    let saved = (1..=STEPS).map(saved).collect::<Result<Vec<u64>>>()?;
    let (least, most) = (saved.iter().min().copied(), saved.iter().max().copied());
    let mean = saved.iter().sum::<u64>() / STEPS;
    Ok(Drawn { steps: STEPS, least: least.unwrap_or(0), mean, most: most.unwrap_or(0) })
}

fn learnable(stages: &[Stage]) -> usize {
    stages.iter().filter(|stage| stage.learns()).count()
}

/// Why so much stays, in sentences.
fn why(stages: &[Stage], [all, part]: [Needs; 2], held: u64, only: TrainOnly, drawn: Option<Drawn>) -> String {
    let first = stages.iter().find(|stage| stage.learns()).map_or("", |stage| stage.name.as_str());
    let mut lines = vec![format!(
        "{first} is the first layer that learns. The layers before it save nothing: {} B of {} B go. From {first} on the \
         backward pass goes through frozen layers as well, and needs {} B for it.",
        all.saved - part.saved,
        all.saved,
        part.saved
    )];
    if held > 0 {
        lines.push(format!(
            "Of these, {held} B are inputs that frozen convolutions alone hold. Only the gradient of their weights would \
             read them, which nobody computes; libtorch saves them all the same."
        ));
    }
    if let TrainOnly::Filters(_) = only {
        lines.push(
            "libtorch computes the gradient of a layer's parameters as a whole, so a part of its filters saves nothing; and \
             while the optimizer works, the run holds copies of the filters that may not change, which the peak here lacks."
                .to_owned(),
        );
    }
    if let Some(Drawn { steps, least, mean, most }) = drawn {
        lines.push(format!(
            "Each step draws other layers. The first {steps} steps save {least} B to {most} B, {mean} B in the mean; a run needs \
             room for the most."
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn varied(model: ModelName, only: &str) -> Varied {
        let only = only.parse().expect("typed well");
        let size = if model == ModelName::LeNet5 { 32 } else { 64 };
        Varied { model, batch: 2, size, classes: 10, optimizer: Optimizer::default(), only, seed: 1, step: 1 }
    }

    fn json_of(varied: &Varied) -> Value {
        serde_json::from_str(&variation(varied, true).expect("fits")).expect("one JSON object")
    }

    /// LeNet-5 with its last layer alone: the input of fc3, [2, 84], and the loss, [2, 10] and 8 bytes. It has 850 parameters.
    #[test]
    fn the_last_layer_alone() {
        let plan = json_of(&varied(ModelName::LeNet5, "last:1"));
        assert_eq!(plan["learning"], json!(["fc3"]));
        assert_eq!(plan["saved_for_backward"], json!({ "fc2": 2 * 84 * 4, "loss": 2 * 10 * 4 + 8 }));
        assert_eq!((&plan["part"]["gradients"], &plan["part"]["optimizer_state"]), (&json!(3_400), &json!(3_400)));
        assert_eq!(plan["part"]["parameters"], plan["all"]["parameters"]);
        assert_eq!(plan["held_by_frozen_convolutions_alone"], 0);
    }

    /// conv1 alone learns: its ReLU and pool and all behind it keep what they keep, but for the inputs of linear layers, which
    /// `addmm` saves only to learn. conv2's input, the pool's output of [2, 6, 14, 14], nobody would need.
    #[test]
    fn the_first_layer_alone() {
        let mut stages = ModelName::LeNet5.stages(10);
        let whole = saved_for_backward(&stages, 2, ModelName::LeNet5.input_of(32)).expect("fits");
        stages.iter_mut().for_each(|stage| stage.frozen = stage.name != "conv1");
        let part = saved_for_backward(&stages, 2, ModelName::LeNet5.input_of(32)).expect("fits");
        let flat = 2 * 16 * 5 * 5 * 4;
        assert_eq!(whole.values().sum::<u64>() - part.values().sum::<u64>(), flat, "the others are results of ReLUs");
        assert_eq!(
            kept_by_frozen_convolutions(&stages, 2, ModelName::LeNet5.input_of(32)).expect("fits"),
            2 * 6 * 14 * 14 * 4
        );
    }

    #[test]
    fn all_is_the_usual_plan() {
        for only in ["all", "filters:0.5", "layers:1"] {
            let plan = json_of(&varied(ModelName::ResNet18, only));
            assert_eq!(plan["all"], plan["part"], "{only}");
        }
    }

    /// Said to a reader: what goes, what stays, and who holds it.
    #[test]
    fn in_words() {
        let text = variation(&varied(ModelName::ResNet18, "last:3"), false).expect("64 fits");
        let row = |layer: &str| text.lines().find(|line| line.starts_with(&format!("{layer} "))).expect("a row");
        assert!(row("conv1").ends_with("nobody: it goes"), "{text}");
        assert!(row("layer4.1.conv2").ends_with("layer4.1.bn2: batch norm: input"), "{text}");
        assert!(row("layer4.1.bn1").ends_with("layer4.1.conv2: convolution: input"), "{text}");
        let second = variation(&varied(ModelName::ResNet18, "last:2"), false).expect("64 fits");
        let row = |layer: &str| second.lines().find(|line| line.starts_with(&format!("{layer} "))).expect("a row");
        assert!(
            row("layer4.1.bn2").ends_with("layer4.1.relu: relu: result"),
            "it has no parameters to freeze: {second}"
        );
        assert!(text.contains("3 of 41 layers learn: layer4.1.conv2, layer4.1.bn2, fc"), "{text}");
        assert!(text.contains("\nlayer4.1.conv2 is the first layer that learns."), "{text}");
        let drawn = variation(&varied(ModelName::ResNet18, "layers:0.4"), false).expect("64 fits");
        assert!(drawn.contains("step 1 of seed 1") && drawn.contains("The first 100 steps save"), "{drawn}");
        let conv1 = drawn.lines().find(|line| line.starts_with("conv1 ")).expect("a row");
        assert!(conv1.ends_with("bn1 (frozen): batch norm: input"), "{drawn}");
    }
}
