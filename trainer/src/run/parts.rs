//! What of a network a step changes, when that is not all of it.
//!
//! Layers that a step does not change have no gradient in it, so the optimizer passes them over. The gradient of a layer's
//! parameters is computed as a whole; so where only some filters are to change, the others lose their gradient, and get back
//! what they were behind the update: the momentum that an optimizer has of earlier steps would move them.
use anyhow::Result;
use tch::{Tensor, no_grad};

use super::error::During;
use crate::model::{Network, Parameters, TrainOnly};
use crate::optimizer::Updater;

/// Which parts change, step by step.
pub(super) struct Parts {
    only: TrainOnly,
    seed: u64,
    /// The step that is done, counted from 1.
    step: u64,
}

/// Some filters of one parameter, and what they are.
struct Held {
    parameter: Tensor,
    /// Along this dimension they lie at these places.
    dimension: i64,
    places: Tensor,
    values: Tensor,
}

impl Parts {
    /// Those of a run with this seed.
    pub(super) fn new(only: TrainOnly, seed: u64) -> Parts {
        Parts { only, seed, step: 0 }
    }

    /// Freezes what the next step does not change.
    pub(super) fn choose(&mut self, network: &mut Network) -> Result<()> {
        self.step += 1;
        if self.only == TrainOnly::All {
            return Ok(());
        }
        network.learn_only(|stages| self.only.freeze(stages, self.seed, self.step)).during("freezing layers")
    }

    /// Updates what the step changes, and lets the gradients go.
    pub(super) fn update(&self, network: &Network, updater: &mut Updater) -> Result<()> {
        let held = self.held(network).during("holding the filters that do not change")?;
        updater.update().during("the optimizer")?;
        let give_back = |Held { mut parameter, dimension, places, values }: Held| {
            no_grad(|| parameter.f_index_copy_(dimension, &places, &values)).map(drop)
        };
        held.into_iter().try_for_each(give_back).during("giving filters back")
    }

    /// The filters that this step does not change, without a gradient from here on.
    fn held(&self, network: &Network) -> tch::Result<Vec<Held>> {
        let layers: Vec<Parameters<'_>> = network.parameters().collect();
        let filters: Vec<usize> = layers.iter().map(|layer| layer.filters).collect();
        let Some(frozen) = self.only.frozen_filters(&filters, self.seed, self.step) else { return Ok(Vec::new()) };
        let mut held = Vec::new();
        for (layer, frozen) in layers.iter().zip(frozen) {
            for parameter in &layer.tensors {
                let places =
                    Tensor::f_from_slice(&layer.places(parameter, &frozen))?.f_to_device(parameter.device())?;
                let values = no_grad(|| parameter.f_index_select(layer.dimension, &places))?;
                let _handle = parameter.grad().f_index_fill_(layer.dimension, &places, 0)?;
                held.push(Held { parameter: parameter.shallow_clone(), dimension: layer.dimension, places, values });
            }
        }
        Ok(held)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::PoisonError;

    use super::*;
    use crate::model::{GENERATOR, ModelName, cross_entropy};
    use crate::optimizer::Optimizer;
    use tch::{Device, Kind};

    /// For each step and each parameter: how many of its channels changed.
    fn changed(only: &str, steps: usize) -> Vec<Vec<(String, i64)>> {
        let _generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        tch::manual_seed(1);
        let stages = ModelName::LeNet5.stages(10);
        let layers: Vec<String> =
            stages.iter().filter(|stage| stage.learns()).map(|stage| stage.name.clone()).collect();
        let mut network = Network::init(stages, Device::Cpu).expect("initialises");
        let mut updater =
            Updater::new(Optimizer::default(), network.store().trainable_variables()).expect("an optimizer");
        let mut parts = Parts::new(only.parse().expect("typed well"), 1);
        let images = Tensor::rand([8, 1, 32, 32], (Kind::Float, Device::Cpu));
        let labels = Tensor::arange(8, (Kind::Int64, Device::Cpu));
        let mut step = || {
            parts.choose(&mut network).expect("freezes");
            let values = |network: &Network| -> Vec<(String, Tensor)> {
                let copied = |(layer, of): (&String, Parameters<'_>)| -> Vec<(String, Tensor)> {
                    of.tensors.iter().map(|tensor| (layer.clone(), tensor.copy())).collect()
                };
                layers.iter().zip(network.parameters()).flat_map(copied).collect()
            };
            let before = values(&network);
            let logits = network.forward(&images, true).expect("runs");
            cross_entropy(logits, &labels).expect("a loss").backward();
            parts.update(&network, &mut updater).expect("updates");
            let moved = before.into_iter().zip(values(&network)).map(|((layer, before), (_, after))| {
                let differs = before.ne_tensor(&after).view([before.size()[0], -1]).any_dim(1, false);
                (layer, differs.sum(Kind::Int64).int64_value(&[]))
            });
            moved.collect()
        };
        (0..steps).map(|_| step()).collect()
    }

    /// Nothing but what learns moves, in later steps either, when there is momentum.
    #[test]
    fn only_what_learns_moves() {
        for (only, moving) in [("last:2", 2), ("layers:0.4", 2), ("all", 5)] {
            for step in changed(only, 4) {
                let mut layers: Vec<&str> =
                    step.iter().filter(|(_, channels)| *channels > 0).map(|(layer, _)| layer.as_str()).collect();
                layers.dedup();
                assert!(layers.len() <= moving && !layers.is_empty(), "{only}: {step:?}");
                assert!(only != "last:2" || layers == ["fc2", "fc3"], "{step:?}");
            }
        }
    }

    /// A third of 6, 16, 120, 84 and 10 channels: 2, 5, 40, 28 and 3. A filter behind a ReLU that is 0 for all images does not
    /// move, so there may be fewer.
    #[test]
    fn only_so_many_filters_move() {
        for step in changed("filters:0.3333333", 4) {
            for ((layer, moved), most) in step.iter().zip([2, 2, 5, 5, 40, 40, 28, 28, 3, 3]) {
                assert!(*moved <= most, "{layer}: {step:?}");
            }
            assert!(step.iter().map(|(_, moved)| moved).sum::<i64>() > 60, "{step:?}");
        }
    }
}
