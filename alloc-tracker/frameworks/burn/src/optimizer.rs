//! burn's Adam, with a layer for its work and its state.
//!
//! An optimizer of burn's is asked for one parameter at a time and hands its state out, so one that stands around another can
//! enter the layer and label the state. Which parameter it is asked for it is not told: there is one for each layer, and burn
//! gives each the parameters whose path begins with the layer's name.
use alloc_tracker::{Category, layer};
use burn::module::ParamGroup;
use burn::optim::{Adam, AdamConfig, AdamState, LearningRate, ModuleOptimizer, Optimizer};
use burn::tensor::{Device, Tensor};

use crate::labels::label;

/// Adam for the parameters of one layer.
#[derive(Clone)]
struct OfLayer {
    layer: &'static str,
    adam: Adam,
}

impl Optimizer for OfLayer {
    type State<const D: usize> = AdamState<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        parameter: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamState<D>>,
    ) -> (Tensor<D>, Option<AdamState<D>>) {
        let _layer = layer!(self.layer);
        let (parameter, state) = self.adam.step(rate, parameter, gradient, state);
        if let Some(state) = &state {
            label(&state.momentum.moment_1, Category::OptimizerState, None);
            label(&state.momentum.moment_2, Category::OptimizerState, None);
        }
        (parameter, state)
    }

    fn to_device<const D: usize>(state: AdamState<D>, device: &Device) -> AdamState<D> {
        Adam::to_device(state, device)
    }
}

/// Adam for a whole network whose `layers` have parameters.
pub fn adam(layers: &[&'static str]) -> ModuleOptimizer {
    let adam = AdamConfig::new().build();
    let optimizer = ModuleOptimizer::from(adam.clone());
    layers.iter().fold(optimizer, |optimizer, layer| {
        let of_layer = OfLayer { layer, adam: adam.clone() };
        optimizer.with_group(ParamGroup::from_predicate(format!("{layer}.")), of_layer, None)
    })
}
