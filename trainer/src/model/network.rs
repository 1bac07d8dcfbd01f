//! A list of stages with weights, run on libtorch step by step.
//!
//! A map (the output of a stage) must be freed as soon as no later stage needs it. A Rust temporary lives to the end of
//! its whole statement, so one chained expression would keep every map of the network. Here each stage replaces the one
//! handle of its branch.
use std::time::Duration;

use alloc_tracker::layer;
use tch::{Device, Result, Tensor, nn};

use super::clock::StageClock;
use super::stage::{Branch, Op, Stage, Window};
use super::weights::{BatchNorm, Weights};

/// Added to the variance before the root; torchvision's value.
const EPSILON: f64 = 1e-5;
/// Share of the new batch in the running statistics; torchvision's value.
const MOMENTUM: f64 = 0.1;

/// A way to run the forward pass: [`Network::forward`], or another with the same result.
pub type Forward = fn(&mut Network, &Tensor, bool) -> Result<Tensor>;

/// A network on the CPU, in fp32.
#[derive(Debug)]
pub struct Network {
    store: nn::VarStore,
    layers: Vec<(Stage, Weights)>,
    init: StageClock,
    forward: StageClock,
}

impl Network {
    /// Gives every stage its variables, drawn from libtorch's generator; each is made in its layer's scope. With `timed`,
    /// each stage's time is taken, here and in the forward passes.
    pub fn init(stages: Vec<Stage>, timed: bool) -> Result<Network> {
        let (mut init, forward) = (StageClock::new(timed, stages.len()), StageClock::new(timed, stages.len()));
        let store = nn::VarStore::new(Device::Cpu);
        let root = store.root();
        let mut layers = Vec::with_capacity(stages.len());
        for (index, stage) in stages.into_iter().enumerate() {
            let _layer = layer!(&stage.name);
            let weights = {
                init.begin();
                let weights = Weights::init(&root, &stage)?;
                init.end(index);
                weights
            };
            layers.push((stage, weights));
        }
        Ok(Network { store, layers, init, forward })
    }

    /// All variables, by the names that PyTorch gives them.
    pub fn store(&self) -> &nn::VarStore {
        &self.store
    }

    /// The stages with their weights, in their order.
    pub(super) fn layers(&self) -> &[(Stage, Weights)] {
        &self.layers
    }

    /// Images [N, 3, H, W] to logits [N, classes]. With `train`, batch norm uses the batch's statistics and updates
    /// its running ones; without, it uses the running ones.
    pub fn forward(&mut self, images: &Tensor, train: bool) -> Result<Tensor> {
        let mut main = images.shallow_clone();
        let mut shortcut = None;
        for (index, (stage, weights)) in self.layers.iter().enumerate() {
            let _layer = layer!(&stage.name);
            self.forward.begin();
            match (stage.op, stage.branch) {
                (Op::Fork, _) => shortcut = Some(main.shallow_clone()),
                (Op::Join, _) => {
                    if let Some(shortcut) = shortcut.take() {
                        main = main.f_add_(&shortcut)?;
                    }
                }
                (_, Branch::Main) => main = run_stage(stage, weights, main, train)?,
                (_, Branch::Shortcut) => {
                    if let Some(map) = shortcut.take() {
                        shortcut = Some(run_stage(stage, weights, map, train)?);
                    }
                }
            }
            self.forward.end(index);
        }
        Ok(main)
    }

    /// Each stage's name, the time that its weights took, and its time in all forward passes so far; none when the
    /// network is not timed.
    pub fn times(&self) -> impl Iterator<Item = (&str, Duration, Duration)> {
        let times = self.init.times().zip(self.forward.times());
        self.layers.iter().zip(times).map(|((stage, _), (init, forward))| (stage.name.as_str(), init, forward))
    }
}

/// One stage on one branch; the map it read is dropped on return.
pub(super) fn run_stage(stage: &Stage, weights: &Weights, mut map: Tensor, train: bool) -> Result<Tensor> {
    match (stage.op, weights) {
        (Op::Conv(conv), Weights::Conv(weight)) => {
            let Window { kernel: _, stride, padding } = conv.window;
            let (stride, padding) = ([stride as i64; 2], [padding as i64; 2]);
            map.f_conv2d(weight, None::<&Tensor>, stride, padding, [1, 1], conv.groups as i64)
        }
        (Op::BatchNorm { .. }, Weights::BatchNorm(weights)) => {
            let BatchNorm { weight, bias, running_mean, running_variance } = weights;
            let (mean, variance) = (Some(running_mean), Some(running_variance));
            map.f_batch_norm(Some(weight), Some(bias), mean, variance, train, MOMENTUM, EPSILON, false)
        }
        (Op::Relu, _) => map.f_relu_(),
        (Op::MaxPool(window), _) => {
            let Window { kernel, stride, padding } = window;
            map.f_max_pool2d([kernel as i64; 2], [stride as i64; 2], [padding as i64; 2], [1, 1], false)
        }
        (Op::AvgPool, _) => {
            let mean = map.f_adaptive_avg_pool2d([1, 1])?;
            mean.f_flatten(1, -1)
        }
        (Op::Linear { .. }, Weights::Linear(weight, bias)) => map.f_linear(weight, Some(bias)),
        // `Network::init` makes the weights from the same op, so nothing else can meet here.
        (op, weights) => unreachable!("{op:?} with {weights:?}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::name::ModelName;
    use std::sync::{Mutex, PoisonError};
    use tch::Kind;

    /// libtorch's generator is one for the process, and tests run side by side.
    pub(in crate::model) static GENERATOR: Mutex<()> = Mutex::new(());

    fn elements(tensors: &[Tensor]) -> u64 {
        tensors.iter().map(|tensor| tensor.numel() as u64).sum()
    }

    /// libtorch's own count against the count from shapes.
    #[test]
    fn variables_are_those_of_the_list() {
        let _generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        for model in ModelName::ALL {
            let stages = model.stages(1000);
            let planned: u64 = stages.iter().map(|stage| stage.op.parameters()).sum();
            let network = Network::init(stages, false).expect("initialises");
            assert_eq!(elements(&network.store().trainable_variables()), planned, "{model}");
            let names = network.store().variables();
            assert!(names.contains_key("fc.bias"), "PyTorch's names");
        }
    }

    /// [N, 3, H, W] -> [N, classes], also for an odd size and for one image of one pixel.
    #[test]
    fn shape_of_the_logits() {
        let _generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        for model in ModelName::ALL {
            let mut network = Network::init(model.stages(10), false).expect("initialises");
            for (batch, side) in [(2, 64), (3, 97), (1, 1)] {
                let images = Tensor::zeros([batch, 3, side, side], (Kind::Float, Device::Cpu));
                let logits = tch::no_grad(|| network.forward(&images, false)).expect("runs");
                assert_eq!(logits.size(), [batch, 10], "{model} {side}");
            }
        }
    }

    /// Two networks from one seed are equal, from two seeds are not.
    #[test]
    fn seeded() {
        let _generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        let first_weight = |seed| {
            tch::manual_seed(seed);
            let network = Network::init(ModelName::MobileNetV1.stages(10), false).expect("initialises");
            network.store().variables()["model.0.0.weight"].shallow_clone()
        };
        assert_eq!(first_weight(1), first_weight(1));
        assert_ne!(first_weight(1), first_weight(2));
    }
}
