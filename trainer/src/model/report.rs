//! `trainer plan`: the bytes of a training step in words or as JSON, from shapes alone.
use anyhow::Result;
use serde_json::json;

use super::name::ModelName;
use super::plan::{F32, input_bytes, label_bytes, saved_for_backward};
use crate::optimizer::Optimizer;

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
    let buffers: u64 = stages.iter().map(|stage| stage.op.buffers()).sum();
    let saved = saved_for_backward(&stages, batch, input)?;
    let saved_bytes: u64 = saved.values().sum();
    let labels = label_bytes(&stages, batch, input)?;
    let state = parameters * F32 * optimizer.states();
    if as_json {
        let size_name = if model.reads_text() { "length" } else { "image_size" };
        let object = json!({
            "model": model.as_str(), "batch": batch, size_name: size, "classes": classes,
            "parameters": parameters, "parameter_bytes": parameters * F32, "buffer_bytes": buffers * F32,
            "input_bytes": input_bytes(batch, input) + labels, "label_bytes": labels,
            "optimizer": optimizer.name.as_str(), "optimizer_state_bytes": state,
            "saved_bytes": saved_bytes, "saved_for_backward": saved,
        });
        return Ok(object.to_string());
    }
    let mut text = format!("{model}, batch {batch}, {}, {classes} classes\n\n", model.input_text(size));
    let mut line = |name: &str, bytes: u64| text.push_str(&format!("{:>14} B  {name}\n", bytes));
    line("parameters; as much again for gradients", parameters * F32);
    line(&format!("state of the optimizer, {optimizer}"), state);
    line("buffers (batch norm's running statistics)", buffers * F32);
    line("input (images or tokens, and labels)", input_bytes(batch, input) + labels);
    line("saved for backward, of that:", saved_bytes);
    for (layer, &bytes) in &saved {
        line(&format!("  {layer}"), bytes);
    }
    text.pop();
    Ok(text)
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
        assert!(text.contains("\n        524288 B    conv1\n"), "2 x 64 x 32 x 32 x 4: {text}");
    }
}
