//! A network's forward pass as one chained expression, `relu(bn(conv(images)))`, the way it should not be written.
//!
//! A Rust temporary lives to the end of its whole statement. Here the maps of a stage are a temporary of the statement that
//! computes all later stages, as they are in `images.apply(&conv1).apply(&bn1).relu()`. So no map is freed before the last
//! stage has run. The results are those of [`Network::forward`], which frees each map as soon as it can.
use alloc_tracker::layer;
use tch::{Result, Tensor};

use super::network::{Network, run_stage};
use super::stage::{Branch, Op, Stage};
use super::weights::Weights;

/// The maps between two stages.
struct Maps {
    main: Tensor,
    shortcut: Option<Tensor>,
}

/// As [`Network::forward`], with every map held to the end.
pub fn forward(network: &mut Network, images: &Tensor, train: bool) -> Result<Tensor> {
    rest(network.layers(), &Maps { main: images.shallow_clone(), shortcut: None }, train)
}

/// The logits that these layers make of `maps`.
fn rest(layers: &[(Stage, Weights)], maps: &Maps, train: bool) -> Result<Tensor> {
    match layers {
        [] => Ok(maps.main.shallow_clone()),
        [(stage, weights), later @ ..] => rest(later, &after(stage, weights, maps, train)?, train),
    }
}

/// The maps after a stage. Those before it stay.
fn after(stage: &Stage, weights: &Weights, maps: &Maps, train: bool) -> Result<Maps> {
    let _layer = layer!(&stage.name);
    let Maps { main, shortcut } = maps;
    let (main, shortcut) = (main.shallow_clone(), shortcut.as_ref().map(Tensor::shallow_clone));
    Ok(match (stage.op, stage.branch) {
        (Op::Fork, _) => Maps { shortcut: Some(main.shallow_clone()), main },
        (Op::Join, _) => Maps { main: add(main, shortcut)?, shortcut: None },
        (_, Branch::Main) => Maps { main: run_stage(stage, weights, main, train)?, shortcut },
        (_, Branch::Shortcut) => {
            let shortcut = shortcut.map(|map| run_stage(stage, weights, map, train)).transpose()?;
            Maps { main, shortcut }
        }
    })
}

fn add(mut main: Tensor, shortcut: Option<Tensor>) -> Result<Tensor> {
    match shortcut {
        Some(shortcut) => main.f_add_(&shortcut),
        None => Ok(main),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::PoisonError;

    use super::*;
    use crate::model::name::ModelName;
    use crate::model::network::tests::GENERATOR;
    use tch::{Device, Kind};

    /// The same numbers, whichever way the network is written.
    #[test]
    fn the_logits_are_those_of_the_steps() {
        let _generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        for model in ModelName::ALL {
            let mut network = Network::init(model.stages(10), false).expect("initialises");
            let images = Tensor::ones([2, 3, 64, 64], (Kind::Float, Device::Cpu));
            let _no_grad = tch::no_grad_guard();
            let steps = network.forward(&images, false).expect("runs");
            let chained = forward(&mut network, &images, false).expect("runs");
            assert_eq!(steps, chained, "{model}");
        }
    }
}
