//! A step with checkpoints beside one without: gradients, running statistics and random numbers are the same to the bit.
use std::collections::BTreeMap;
use std::sync::PoisonError;

use tch::{Device, Kind, Tensor};
use trainer_checkpoint::{Chain, Persistent, Schedule, Stage, revolve, sequential, whole};

use super::cut::parts;
use super::execute::step;
use crate::model::{GENERATOR, ModelName, Network, cross_entropy};

/// What a step leaves: the loss, the variables and their gradients by name, and what the generator draws next.
#[derive(PartialEq)]
struct Left {
    loss: f64,
    tensors: BTreeMap<String, Tensor>,
    drawn: Tensor,
}

impl Left {
    fn of(loss: f64, network: &Network) -> Left {
        let mut tensors = BTreeMap::new();
        for (name, variable) in network.store().variables() {
            let gradient = variable.grad();
            if gradient.defined() {
                tensors.insert(format!("gradient of {name}"), gradient.copy());
            }
            tensors.insert(name, variable.detach().copy());
        }
        Left { loss, tensors, drawn: Tensor::rand([4], (Kind::Float, Device::Cpu)) }
    }

    #[track_caller]
    fn is(&self, other: &Left, what: &str) {
        assert_eq!(self.loss.to_bits(), other.loss.to_bits(), "{what}: the loss");
        assert_eq!(self.tensors.len(), other.tensors.len(), "{what}");
        for (name, tensor) in &self.tensors {
            assert!(*tensor == other.tensors[name], "{what}: {name}");
        }
        assert_eq!(self.drawn, other.drawn, "{what}: random numbers");
    }
}

/// A network and a batch, all of one seed.
fn made(model: ModelName, size: u64) -> (Network, Tensor, Tensor) {
    tch::manual_seed(7);
    let network = Network::init(model.stages(10), Device::Cpu).expect("initialises");
    let dimensions: Vec<i64> =
        [2].into_iter().chain(model.input_of(size).dimensions()).map(|side| side as i64).collect();
    let images = Tensor::rand(dimensions, (Kind::Float, Device::Cpu));
    (network, images, Tensor::from_slice(&[3i64, 8]))
}

/// Schedules of all kinds for so many stages.
fn schedules(stages: usize) -> Vec<Schedule> {
    // Costs that differ from stage to stage, so that the schedules in bytes are of many shapes.
    let stage = |index: usize| {
        let output_bytes = 1 + (7 * index as u64) % 5;
        Stage {
            output_bytes,
            saved_bytes: 3 + output_bytes,
            saved_and_output_bytes: 3 + output_bytes,
            forward_ns: 1 + (3 * index as u64) % 4,
            ..Stage::default()
        }
    };
    let chain = Chain { stages: (0..stages).map(stage).collect(), ..Chain::default() };
    let in_bytes = Persistent::new(&chain, 100);
    let in_bytes = in_bytes.schedules();
    // The smallest, and one from the middle.
    let in_bytes = in_bytes.iter().rev().step_by(in_bytes.len().div_ceil(2)).map(|(schedule, _)| schedule.clone());
    let others = [sequential(stages, 3), revolve(stages, 3)];
    in_bytes.chain(others.into_iter().flatten()).chain([whole(stages)]).collect()
}

#[track_caller]
fn check(model: ModelName, size: u64) {
    let _generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    tch::set_num_threads(1);
    let (mut network, images, labels) = made(model, size);
    let loss = cross_entropy(network.forward(&images, true).expect("runs"), &labels).expect("runs");
    loss.backward();
    let plain = Left::of(loss.double_value(&[]), &network);
    drop(network);
    let parts = parts(&model.stages(10), true);
    for schedule in schedules(parts.len() + 1) {
        let (mut network, images, labels) = made(model, size);
        let ran = step(&mut network, &parts, &schedule, (&images, &labels), &mut |_, _| {}).expect("runs");
        Left::of(ran.loss, &network).is(&plain, &format!("{model}, {schedule}"));
    }
}

#[test]
fn a_plain_chain() {
    check(ModelName::LeNet5, 32);
}

/// Batch norm with running statistics, and shortcuts.
#[test]
fn residual_blocks() {
    check(ModelName::ResNet18, 33);
}

/// Dropout between convolutions and branches.
#[test]
fn branches_and_dropout() {
    check(ModelName::SqueezeNet11, 33);
}

/// Dropout twice, in parts that are run again.
#[test]
fn dropout() {
    check(ModelName::AlexNet, 63);
}
