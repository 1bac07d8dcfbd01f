//! A list of stages with weights, run on libtorch step by step.
//!
//! A map (the output of a stage) must be freed as soon as no later stage needs it. A Rust temporary lives to the end of
//! its whole statement, so one chained expression would keep every map of the network. Here each stage is a statement of
//! its own, unless a comparison asks for chained expressions; see [`Chained`].
mod how;
mod inputs;
mod parameters;

mod sequence;

mod apply;

use std::ops::{Range, RangeInclusive};

use alloc_tracker::layer;
use tch::{Device, Result, Tensor, nn, no_grad};

use self::how::How;
pub use self::how::Statistics;
use self::inputs::Inputs;
pub use self::parameters::Parameters;
use super::op::Op;
use super::stage::{Stage, last_readers};
use super::weights::Weights;

/// How much of the forward pass is written as one chained expression, `relu(bn(conv(images)))`, the way it should not be
/// written: a map is let go at the end of the expression in which it was read last. Unchained, each stage is an
/// expression of its own.
///
/// ```text
/// unchained   conv1 | bn1 | relu | maxpool | conv1 | bn1 | relu | conv2 | bn2 | ...
/// units       conv1 - bn1 - relu | maxpool | conv1 - bn1 - relu | conv2 - bn2 | ...
/// whole       conv1 - bn1 - relu - maxpool - conv1 - bn1 - relu - conv2 - bn2 - ...
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Chained {
    /// All of it: every map is held to the end.
    Whole,
    /// Each convolution, pool or sum with the batch norm and the ReLU behind it.
    Units,
}

/// A network, its variables in fp32.
#[derive(Debug)]
pub struct Network {
    store: nn::VarStore,
    layers: Vec<(Stage, Weights)>,
    /// The last stage that reads each map.
    last_readers: Vec<Option<usize>>,
    chained: Option<Chained>,
    in_place: bool,
    /// The maps of a forward pass that are still needed, by their number. Empty between two passes; it stands here so that
    /// a pass allocates no list.
    maps: Vec<Option<Tensor>>,
}

impl Network {
    /// Gives every stage its variables on `device`, drawn from libtorch's generator; each is made in its layer's scope.
    /// The loss, if the list ends with one, is left out.
    pub fn init(mut stages: Vec<Stage>, device: Device) -> Result<Network> {
        stages.retain(|stage| !matches!(stage.op, Op::Loss(_)));
        let store = nn::VarStore::new(device);
        let root = store.root();
        let last_readers = last_readers(&stages);
        let maps = Vec::with_capacity(last_readers.len());
        let mut layers = Vec::with_capacity(stages.len());
        for stage in stages {
            let _layer = layer!(&stage.name);
            let weights = Weights::init(&root, &stage)?;
            layers.push((stage, weights));
        }
        Ok(Network { store, layers, last_readers, chained: None, in_place: true, maps })
    }

    /// The same, so much of its forward pass being a chained expression.
    pub fn with_chained(self, chained: Option<Chained>) -> Network {
        Network { chained, ..self }
    }

    /// Whether what works in place does so: ReLU and the sums of residual blocks write over the map that they read. If
    /// not, each makes a map of its own, as `relu` and `+` do.
    pub fn with_in_place(self, in_place: bool) -> Network {
        Network { in_place, ..self }
    }

    /// Has its weights lie in memory with the channels last. Convolutions leave their maps as their weights or inputs lie.
    ///
    /// # Errors
    /// When libtorch fails.
    pub fn put_channels_last(&mut self) -> Result<()> {
        for mut variable in self.store.variables().into_values() {
            if variable.dim() == IMAGE_DIMENSIONS {
                let values = no_grad(|| channels_last(&variable))?;
                variable.f_set_data(&values)?;
            }
        }
        Ok(())
    }

    /// Lets its variables be as they are: no gradient is computed for them, and operators on them keep nothing.
    pub fn freeze(&mut self) {
        self.store.freeze();
    }

    /// Lets the parameters of some stages be as they are, as `choose` freezes them, and has the others learn.
    ///
    /// # Errors
    /// When libtorch fails.
    pub fn learn_only(&mut self, choose: impl FnOnce(&mut [Stage])) -> Result<()> {
        let mut stages: Vec<Stage> = self.layers.iter().map(|(stage, _)| stage.clone()).collect();
        choose(&mut stages);
        for ((stage, weights), chosen) in self.layers.iter_mut().zip(stages) {
            if stage.frozen != chosen.frozen {
                for parameter in weights.parameters() {
                    // In place; what it returns is another handle.
                    let _handle = parameter.f_set_requires_grad(!chosen.frozen)?;
                }
                stage.frozen = chosen.frozen;
            }
        }
        Ok(())
    }

    /// The parameters of each layer that has some, in the order of the network.
    pub fn parameters(&self) -> impl Iterator<Item = Parameters<'_>> {
        let layers = self.layers.iter().filter(|(stage, _)| stage.op.parameters() > 0);
        layers.map(|(_, weights)| Parameters::of(weights))
    }

    /// All variables, by the names that PyTorch gives them.
    pub fn store(&self) -> &nn::VarStore {
        &self.store
    }

    /// Images [N, C, H, W] or tokens [N, L] to logits, [N, classes] or [N, L', classes]. With `train`, batch norm uses the
    /// batch's statistics and updates its running ones, and dropout drops; without, neither.
    pub fn forward(&mut self, inputs: &Tensor, train: bool) -> Result<Tensor> {
        self.maps.clear();
        self.maps.push(Some(inputs.shallow_clone()));
        let mut expression_begins = 0;
        for index in 0..self.layers.len() {
            {
                let (stage, _) = &self.layers[index];
                let _layer = layer!(&stage.name);
                let map = self.run(index, train, Statistics::Updated)?;
                self.maps.push(Some(map));
                if self.chained.is_none() {
                    self.let_go(index..=index);
                }
            }
            // The temporaries of an expression go at its end, when its last layer has been left.
            if self.chained.is_some_and(|chained| self.ends_expression(chained, index)) {
                self.let_go(expression_begins..=index);
                expression_begins = index + 1;
            }
        }
        let logits = self.maps.pop().flatten();
        self.maps.clear();
        Ok(logits.unwrap_or_else(|| inputs.shallow_clone()))
    }

    /// In training, what the stages of `part` make of the one map that the first of them reads; they read no other from before
    /// it. Each stage is an expression of its own.
    pub fn forward_part(&mut self, part: Range<usize>, map: Tensor, statistics: Statistics) -> Result<Tensor> {
        self.maps.clear();
        self.maps.resize_with(part.start, || None);
        self.maps.push(Some(map));
        for index in part {
            let (stage, _) = &self.layers[index];
            let _layer = layer!(&stage.name);
            let map = self.run(index, true, statistics)?;
            self.maps.push(Some(map));
            self.let_go(index..=index);
        }
        let left = self.maps.pop().flatten();
        self.maps.clear();
        // The map that was pushed last: the one that came in, or what a stage made of it.
        Ok(left
            .unwrap_or_else(|| unreachable!("a map is let go behind its last reader, and the last one has none here")))
    }

    /// Whether the stage `index` is the last of its expression.
    fn ends_expression(&self, chained: Chained, index: usize) -> bool {
        let continues =
            |(next, _): &(Stage, Weights)| matches!(next.op, Op::BatchNorm { .. } | Op::Relu(_) | Op::Relu6);
        match chained {
            Chained::Units => !self.layers.get(index + 1).is_some_and(continues),
            Chained::Whole => index + 1 == self.layers.len(),
        }
    }

    /// Drops the maps whose last readers are the stages in `done`.
    fn let_go(&mut self, done: RangeInclusive<usize>) {
        let last = Some(*done.end());
        for (stage, _) in &self.layers[done] {
            for map in &stage.reads {
                if self.last_readers[map.0] <= last {
                    self.maps[map.0] = None;
                }
            }
        }
    }

    /// What the stage `index` makes of the maps that it reads.
    fn run(&self, index: usize, train: bool, statistics: Statistics) -> Result<Tensor> {
        let (stage, weights) = &self.layers[index];
        let how = How { train, in_place: self.in_place, statistics };
        apply::apply(stage.op, weights, &Inputs::new(&self.maps, &stage.reads), how)
    }
}

/// Images, and the weights of convolutions, have so many: [N, C, H, W].
const IMAGE_DIMENSIONS: usize = 4;

/// The same values, [N, C, H, W], in memory as [N, H, W, C]. libtorch tells it by the strides (c10/core/MemoryFormat.h:
/// `is_channels_last_strides_2d`).
///
/// # Errors
/// When it has another number of dimensions.
pub fn channels_last(images: &Tensor) -> Result<Tensor> {
    images.f_permute([0, 2, 3, 1])?.f_contiguous()?.f_permute([0, 3, 1, 2])
}

/// libtorch's generator is one for the process, and tests run side by side: whoever draws from it in a test holds this.
#[cfg(test)]
pub(crate) static GENERATOR: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::name::ModelName;
    use crate::model::objective::Objective;
    use crate::model::shape;
    use clap::ValueEnum;
    use std::sync::PoisonError;
    use tch::Kind;

    fn elements(tensors: &[Tensor]) -> u64 {
        tensors.iter().map(|tensor| tensor.numel() as u64).sum()
    }

    fn network(model: ModelName, classes: u64) -> Network {
        Network::init(model.stages(classes), Device::Cpu).expect("initialises")
    }

    /// libtorch's own count against the count from shapes.
    #[test]
    fn variables_are_those_of_the_list() {
        let _generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        for &model in ModelName::value_variants() {
            let planned: u64 = model.stages(1000).iter().map(|stage| stage.op.parameters()).sum();
            let network = network(model, 1000);
            assert_eq!(elements(&network.store().trainable_variables()), planned, "{model}");
        }
        assert!(network(ModelName::ResNet18, 10).store().variables().contains_key("fc.bias"), "PyTorch's names");
    }

    /// What comes out of inputs of nothing but zeroes.
    fn logits(model: ModelName, network: &mut Network, batch: u64, size: u64) -> Vec<i64> {
        let input = model.input_of(size);
        let kind = if model.reads_text() { Kind::Int64 } else { Kind::Float };
        let dimensions: Vec<i64> = [batch].into_iter().chain(input.dimensions()).map(|side| side as i64).collect();
        let inputs = Tensor::zeros(dimensions, (kind, Device::Cpu));
        tch::no_grad(|| network.forward(&inputs, false)).expect("runs").size()
    }

    /// The shape that is computed without libtorch, in the size of the reference, and for the demo's networks also with an
    /// odd size and one image of one pixel. BERT-base in a short text, and no network of this size twice: 440 MB.
    #[test]
    fn shape_of_the_logits() {
        let _generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        // The others leave something else than logits: see their lists.
        let tell_classes = |model: &&ModelName| model.objective() == Objective::Classes;
        for &model in ModelName::value_variants().iter().filter(tell_classes) {
            let size = if model == ModelName::BertBase { 8 } else { model.input().size() };
            let mut network = network(model, 10);
            let shapes = shape::shapes(&model.stages(10), model.input_of(size)).expect("fits");
            let expected = shapes.last().expect("the logits").dimensions().into_iter().map(|side| side as i64);
            let expected: Vec<i64> = [2].into_iter().chain(expected).collect();
            assert_eq!(logits(model, &mut network, 2, size), expected, "{model}");
            assert_eq!(expected.last(), Some(&10), "{model}");
            assert_eq!(network.maps.len(), 0, "{model}: nothing is held between two passes");
        }
        for model in ModelName::DEMO {
            let mut network = network(model, 10);
            for (batch, side) in [(2, 64), (3, 97), (1, 1)] {
                assert_eq!(logits(model, &mut network, batch, side), [batch as i64, 10], "{model} {side}");
            }
        }
    }

    /// Two networks from one seed are equal, from two seeds are not.
    #[test]
    fn seeded() {
        let _generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        let first_weight = |seed| {
            tch::manual_seed(seed);
            network(ModelName::MobileNetV1, 10).store().variables()["model.0.0.weight"].shallow_clone()
        };
        assert_eq!(first_weight(1), first_weight(1));
        assert_ne!(first_weight(1), first_weight(2));
    }

    /// The same numbers, however the network is written.
    #[test]
    fn the_logits_do_not_depend_on_how_it_is_written() {
        let _generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        let images = Tensor::ones([2, 3, 64, 64], (Kind::Float, Device::Cpu));
        let texts = Tensor::ones([2, 6], (Kind::Int64, Device::Cpu));
        for (model, inputs) in [
            (ModelName::MobileNetV2, &images),
            (ModelName::ResNet18, &images),
            (ModelName::InceptionV1, &images),
            (ModelName::Seq2Seq, &texts),
            (ModelName::BertTiny, &texts),
        ] {
            let mut network = network(model, 10);
            let _no_grad = tch::no_grad_guard();
            let steps = network.forward(inputs, false).expect("runs");
            for in_place in [true, false] {
                for chained in [None, Some(Chained::Units), Some(Chained::Whole)] {
                    network = network.with_in_place(in_place).with_chained(chained);
                    let logits = network.forward(inputs, false).expect("runs");
                    assert_eq!(steps, logits, "{model} {in_place} {chained:?}");
                }
            }
        }
    }
}
