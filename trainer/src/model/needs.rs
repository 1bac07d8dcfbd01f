//! What a training step needs by layer, from shapes alone, and when it is there.
//!
//! ```text
//! there at            end of forward   end of backward   end of step
//! parameters, buffers       x                 x                x
//! optimizer state      from step 2       from step 2           x
//! saved for backward        x
//! gradients                                   x
//! ```
//!
//! A gradient has its parameter's shape, and so has each of the optimizer's states; all three are of the parameter's layer.
use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;

use super::plan::{F32, saved_for_backward};
use super::shape::{Misfit, Shape};
use super::stage::Stage;
use crate::optimizer::Optimizer;

/// What one layer needs, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LayerBytes {
    /// What is learned.
    pub parameters: u64,
    /// At the end of the backward pass.
    pub gradients: u64,
    /// From the end of the first step on.
    pub optimizer_state: u64,
    /// What is kept and not learned: running statistics.
    pub buffers: u64,
    /// What the layer allocated and the backward pass will read: at the end of the forward pass.
    pub saved: u64,
}

impl AddAssign for LayerBytes {
    fn add_assign(&mut self, other: LayerBytes) {
        self.parameters += other.parameters;
        self.gradients += other.gradients;
        self.optimizer_state += other.optimizer_state;
        self.buffers += other.buffers;
        self.saved += other.saved;
    }
}

/// What each layer needs, for `batch` inputs of this shape in fp32. Layers that need nothing are left out.
///
/// # Errors
/// When the input does not fit the stages.
pub fn by_layer(
    stages: &[Stage],
    batch: u64,
    input: Shape,
    optimizer: Optimizer,
) -> Result<BTreeMap<String, LayerBytes>, Misfit> {
    let mut layers: BTreeMap<String, LayerBytes> = BTreeMap::new();
    for stage in stages {
        let parameters = stage.op.parameters() * F32;
        let learned = if stage.frozen { 0 } else { parameters };
        *layers.entry(stage.name.clone()).or_default() += LayerBytes {
            parameters,
            gradients: learned,
            optimizer_state: learned * optimizer.states(),
            buffers: stage.op.buffers() * F32,
            saved: 0,
        };
    }
    for (layer, saved) in saved_for_backward(stages, batch, input)? {
        *layers.entry(layer).or_default() += LayerBytes { saved, ..LayerBytes::default() };
    }
    layers.retain(|_, needs| *needs != LayerBytes::default());
    Ok(layers)
}

/// The sum over all layers.
pub fn total(layers: &BTreeMap<String, LayerBytes>) -> LayerBytes {
    layers.values().fold(LayerBytes::default(), |mut sum, &layer| {
        sum += layer;
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::name::ModelName;
    use crate::optimizer::OptimizerName;

    /// ResNet-18's stem at batch 2 of 64 pixels: 64 x 3 x 7 x 7 weights of 4 bytes; a map of 64 x 32 x 32.
    #[test]
    fn needs_of_a_layer() {
        let adam = Optimizer { name: OptimizerName::Adam, ..Optimizer::default() };
        let input = Shape::Maps { channels: 3, side: 64 };
        let layers = by_layer(&ModelName::ResNet18.stages(1000), 2, input, adam).expect("64 fits");
        let weights = 64 * 3 * 7 * 7 * 4;
        let conv1 = LayerBytes {
            parameters: weights,
            gradients: weights,
            optimizer_state: 2 * weights,
            buffers: 0,
            saved: 2 * 64 * 32 * 32 * 4,
        };
        assert_eq!(layers["conv1"], conv1);
        assert_eq!((layers["bn1"].buffers, layers["bn1"].parameters), (64 * 2 * 4, 64 * 2 * 4));
        assert!(!layers.contains_key("relu"), "in place, and nothing to learn");
        let all = total(&layers);
        assert_eq!((all.parameters, all.gradients, all.optimizer_state), (46_758_048, 46_758_048, 2 * 46_758_048));
        assert_eq!(all.buffers, 4_800 * 2 * 4);
    }
}
